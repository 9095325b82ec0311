package pack

import (
	"strings"
	"unicode"

	"ctxfs/internal/record"
)

// shown is the text that stands for a block in a pack when it is not cut.
func shown(b *record.Block) string {
	switch b.Kind {
	case record.ToolUse:
		return scrub(b.Input)
	case record.Image:
		return clean(b.Placeholder(), 400)
	}
	return scrub(b.Text)
}

// clean makes a name of unknown origin fit for a heading or a marker: one line, no Markdown, at most size bytes.
func clean(s string, size int) string {
	var out strings.Builder
	for _, r := range s {
		if out.Len() >= size {
			out.WriteString("…")
			break
		}
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), strings.ContainsRune("._-+/:@, ", r):
			out.WriteRune(r)
		default:
			out.WriteByte('_')
		}
	}
	return out.String()
}

// what names a block in its marker; empty for plain words.
func what(b *record.Block, answers string) string {
	switch b.Kind {
	case record.Thinking:
		return "thinking"
	case record.ToolUse:
		return "call " + clean(b.Name, 64)
	case record.ToolResult:
		s := "result of " + answers
		if b.IsError {
			s += ", error"
		}
		return s
	case record.Image:
		return "media"
	case record.Other:
		return "block"
	}
	return ""
}

// speaker names who wrote r.
func speaker(r *record.Record) string {
	role := r.Role
	if role == "" {
		role = "line"
		if r.Type != "" {
			role += " " + r.Type
		}
	}
	if r.Name != "" && r.Name != r.Role {
		role += " " + r.Name
	}
	return clean(role, 64)
}

// guard keeps content from looking like a marker: markers are the only lines that start with '['.
func guard(s string) string {
	if strings.HasPrefix(s, "[") {
		s = " " + s
	}
	return strings.ReplaceAll(s, "\n[", "\n [")
}

// longestRun is the length of the longest run of backticks or tildes in s.
func longestRun(s string) int {
	best := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '`' && c != '~' {
			continue
		}
		j := i
		for j < len(s) && s[j] == c {
			j++
		}
		best = max(best, j-i)
		i = j - 1
	}
	return best
}

// usualFence closes over most content; what holds such a run itself gets a longer one of its own.
const usualFence = "````"

// fence is a fence that s cannot close.
func fence(s string) string {
	if !strings.Contains(s, usualFence) && !strings.Contains(s, "~~~~") { // looks at many bytes at once
		return usualFence
	}
	if n := longestRun(s); n >= len(usualFence) {
		return strings.Repeat("`", n+1)
	}
	return usualFence
}
