package compile

import (
	"slices"
	"strings"
	"unicode"
)

// marks lists the names in a text that are hardly there by chance: paths, identifiers, numbers, words in capitals. Each once.
func marks(text string) (out []string) {
	eachMark(text, func(m string) {
		if !slices.Contains(out, m) && len(out) < 32 {
			out = append(out, m)
		}
	})
	return out
}

func eachMark(text string, yield func(string)) {
	start := -1
	for i := 0; i <= len(text); i++ {
		if i < len(text) && inMark(text[i]) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			if m := strings.Trim(text[start:i], "./-"); isMark(m) {
				yield(m)
			}
			start = -1
		}
	}
}

func inMark(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '/' || c == '-'
}

func isMark(m string) bool {
	if len(m) < 4 || len(m) > 200 {
		return false
	}
	if strings.ContainsAny(m, "0123456789_./") {
		return true
	}
	upper := 0
	for _, c := range m[1:] {
		if unicode.IsUpper(c) {
			upper++
		}
	}
	return upper > 0
}

// enough is how many of a claim's marks a text must have to be about the same thing.
func enough(marks int) int { return min(2, marks) }

// opposed tells whether two sentences are about the same thing and one says no to it. It is a rule, not understanding.
func opposed(a, b string) bool {
	if denies(a) == denies(b) {
		return false
	}
	m, common := marks(a), 0
	other := marks(b)
	for _, x := range m {
		if slices.Contains(other, x) {
			common++
		}
	}
	return len(m) > 0 && common >= enough(len(m))
}

func denies(text string) bool {
	t := " " + strings.ToLower(text) + " "
	return slices.ContainsFunc([]string{" not ", " never ", " no longer ", "n't ", " instead of ", " stop "}, func(w string) bool { return strings.Contains(t, w) })
}

// succeeds tells whether a sentence says that something works now.
func succeeds(text string) bool {
	t := " " + strings.ToLower(text) + " "
	return !denies(text) && slices.ContainsFunc([]string{" pass", " works", " fixed", " succeed", " green", " done", " completed"}, func(w string) bool { return strings.Contains(t, w) })
}
