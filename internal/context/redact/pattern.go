package redact

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	unbounded = 64 << 10 // bytes that are looked at of a match that has no longest length
	maxLeads  = 512
	maxClass  = 64
)

// strip takes from a pattern what may be empty at its beginning, and gives the longest length of that in bytes. Whatever
// the pattern matches ends with a match of what is left.
func strip(re *syntax.Regexp) (*syntax.Regexp, int) {
	switch re.Op {
	case syntax.OpCapture:
		return strip(re.Sub[0])
	case syntax.OpConcat:
		head := 0
		for i, sub := range re.Sub {
			if optional(sub) {
				head = add(head, longest(sub))
				continue
			}
			first, n := strip(sub)
			rest := append([]*syntax.Regexp{first}, re.Sub[i+1:]...)
			return &syntax.Regexp{Op: syntax.OpConcat, Flags: re.Flags, Sub: rest}, add(head, n)
		}
	case syntax.OpAlternate:
		out := &syntax.Regexp{Op: syntax.OpAlternate, Flags: re.Flags}
		head := 0
		for _, sub := range re.Sub {
			rest, n := strip(sub)
			out.Sub = append(out.Sub, rest)
			head = max(head, n)
		}
		return out, head
	}
	return re, 0
}

func optional(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpStar, syntax.OpQuest, syntax.OpEmptyMatch, syntax.OpWordBoundary:
		return true
	case syntax.OpRepeat:
		return re.Min == 0
	}
	return false
}

func add(a, b int) int { return min(a+b, unbounded) }

// longest is the longest match in bytes, at most unbounded.
func longest(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune) * utf8.UTFMax // a letter may have a longer form in the other case
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return widest(re)
	case syntax.OpStar, syntax.OpPlus:
		return unbounded
	case syntax.OpRepeat:
		if re.Max < 0 {
			return unbounded
		}
		return min(longest(re.Sub[0])*re.Max, unbounded)
	case syntax.OpAlternate:
		n := 0
		for _, sub := range re.Sub {
			n = max(n, longest(sub))
		}
		return n
	}
	n := 0
	for _, sub := range re.Sub {
		n = add(n, longest(sub))
	}
	return n
}

func widest(re *syntax.Regexp) int {
	if re.Op != syntax.OpCharClass {
		return utf8.UTFMax
	}
	if len(re.Rune) == 0 {
		return 0
	}
	return utf8.RuneLen(re.Rune[len(re.Rune)-1])
}

// leads gives beginnings, in lower case, of which each match has one, and whether these are all that can be matched.
func leads(re *syntax.Regexp) ([]string, bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(re.Rune))}, true
	case syntax.OpCharClass:
		return classLeads(re)
	case syntax.OpEmptyMatch, syntax.OpWordBoundary, syntax.OpNoWordBoundary, syntax.OpBeginLine, syntax.OpBeginText, syntax.OpEndLine, syntax.OpEndText:
		return []string{""}, true
	case syntax.OpCapture:
		return leads(re.Sub[0])
	case syntax.OpConcat:
		return concatLeads(re.Sub)
	case syntax.OpAlternate:
		return alternateLeads(re.Sub)
	case syntax.OpQuest:
		list, all := leads(re.Sub[0])
		return append(list, ""), all
	case syntax.OpPlus:
		list, _ := leads(re.Sub[0])
		return list, false
	case syntax.OpRepeat:
		if re.Min > 0 {
			list, _ := leads(re.Sub[0])
			return list, false
		}
	}
	return []string{""}, false
}

func classLeads(re *syntax.Regexp) ([]string, bool) {
	var list []string
	for i := 0; i+1 < len(re.Rune); i += 2 {
		for c := re.Rune[i]; c <= re.Rune[i+1]; c++ {
			if len(list) >= maxClass*2 {
				return []string{""}, false
			}
			list = append(list, strings.ToLower(string(c)))
		}
	}
	slices.Sort(list)
	return slices.Compact(list), true
}

func concatLeads(subs []*syntax.Regexp) ([]string, bool) {
	list := []string{""}
	for _, sub := range subs {
		more, all := leads(sub)
		if len(list)*len(more) > maxLeads {
			return list, false
		}
		var longer []string
		for _, a := range list {
			for _, b := range more {
				longer = append(longer, a+b)
			}
		}
		if list = longer; !all {
			return list, false
		}
	}
	return list, true
}

func alternateLeads(subs []*syntax.Regexp) ([]string, bool) {
	var list []string
	every := true
	for _, sub := range subs {
		more, all := leads(sub)
		list = append(list, more...)
		every = every && all
	}
	return list, every
}

// beginsWith tells whether each match begins with one of the words.
func beginsWith(re *syntax.Regexp, words []string) bool {
	list, _ := leads(re)
	return all(list, func(s string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(s, w) })
	})
}

// contains tells whether each match has one of the words in it. It may say no where it is so.
func contains(re *syntax.Regexp, words []string) bool {
	if list, _ := leads(re); all(list, func(s string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
	}) {
		return true
	}
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		return contains(re.Sub[0], words)
	case syntax.OpRepeat:
		return re.Min > 0 && contains(re.Sub[0], words)
	case syntax.OpAlternate:
		return all(re.Sub, func(sub *syntax.Regexp) bool { return contains(sub, words) })
	case syntax.OpConcat:
		for i := range re.Sub {
			rest := &syntax.Regexp{Op: syntax.OpConcat, Sub: re.Sub[i:]}
			if list, _ := leads(rest); all(list, func(s string) bool {
				return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
			}) || contains(re.Sub[i], words) {
				return true
			}
		}
	}
	return false
}

func all[T any](list []T, ok func(T) bool) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(t T) bool { return !ok(t) })
}
