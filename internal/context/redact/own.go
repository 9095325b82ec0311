package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// Limits of the file context/redact. MaxSteps bounds what all its regexps together cost for each byte of a text: the
// instructions of their programs.
const (
	MaxOwn      = 100
	MaxOwnBytes = 1 << 10 // of one rule
	MaxOwnName  = 48
	MaxSteps    = 4096
)

// literalMark begins a rule that is a text, not a regexp.
const literalMark = "literal:"

// Own is one rule of a session: Regexp, or Literal, which is found as it is and as it is written in JSON.
type Own struct {
	Name, Regexp, Literal string
}

// forms is how a literal stands in a text: as it is, and escaped in a JSON string.
func (o Own) forms() []string {
	if o.Literal == "" {
		return nil
	}
	out := []string{o.Literal}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if enc.Encode(o.Literal) == nil {
		if s := strings.TrimSuffix(text.String(), "\n"); len(s) > 2 && s[1:len(s)-1] != o.Literal {
			out = append(out, s[1:len(s)-1])
		}
	}
	return out
}

// ParseOwn reads the file context/redact: a line is empty, a comment that begins with #, or one rule, `NAME REGEXP` or
// `NAME literal:TEXT`. A name is of a-z, 0-9 and .-_ and stands once. A regexp is RE2 as Go has it; its first group that
// is not empty is the secret, else all of the match. An error tells the line, counted from 1.
func ParseOwn(data []byte) ([]Own, error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("redact: not UTF-8")
	}
	var own []Own
	names := map[string]bool{}
	steps, number := 0, 0
	for line := range strings.Lines(string(data)) {
		number++
		text := strings.TrimSpace(line)
		if text == "" || text[0] == '#' {
			continue
		}
		o, n, err := parseLine(text)
		steps += n
		switch {
		case err != nil:
		case names[o.Name]:
			err = fmt.Errorf("the name %s stands twice", o.Name)
		case len(own) == MaxOwn:
			err = fmt.Errorf("more than %d rules", MaxOwn)
		case steps > MaxSteps:
			err = fmt.Errorf("the regexps together have more than %d steps", MaxSteps)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		names[o.Name] = true
		own = append(own, o)
	}
	return own, nil
}

// parseLine reads one rule, and counts the steps of its regexp.
func parseLine(text string) (Own, int, error) {
	if len(text) > MaxOwnBytes {
		return Own{}, 0, fmt.Errorf("longer than %d bytes", MaxOwnBytes)
	}
	end := strings.IndexAny(text, " \t")
	if end < 0 {
		return Own{}, 0, fmt.Errorf("not NAME REGEXP or NAME %sTEXT", literalMark)
	}
	o := Own{Name: text[:end], Regexp: strings.TrimSpace(text[end:])}
	if !isName(o.Name) {
		return o, 0, fmt.Errorf("bad name %q: a-z, 0-9, .-_ , at most %d", o.Name, MaxOwnName)
	}
	if lit, ok := strings.CutPrefix(o.Regexp, literalMark); ok {
		o.Regexp, o.Literal = "", lit
		if lit == "" {
			return o, 0, fmt.Errorf("%s: an empty text", o.Name)
		}
		return o, 0, nil
	}
	steps, err := checkRegexp(o.Regexp)
	return o, steps, err
}

func isName(s string) bool {
	if s == "" || len(s) > MaxOwnName || strings.Trim(s[:1], ".-_") == "" {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789.-_") == ""
}

// checkRegexp refuses what is no regexp, costs too much, or matches the empty text.
func checkRegexp(s string) (int, error) {
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return 0, err
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return 0, err
	}
	if len(prog.Inst) > MaxSteps {
		return 0, fmt.Errorf("has more than %d steps", MaxSteps)
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return 0, err
	}
	if shortest(tree) == 0 || re.MatchString("") {
		return 0, fmt.Errorf("matches the empty text")
	}
	return len(prog.Inst), nil
}

// shortest is 0 if a match may be empty.
func shortest(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpNoMatch:
		return 1
	case syntax.OpCapture, syntax.OpPlus:
		return shortest(re.Sub[0])
	case syntax.OpRepeat:
		return min(re.Min, shortest(re.Sub[0]))
	case syntax.OpConcat:
		n := 0
		for _, sub := range re.Sub {
			n = max(n, shortest(sub))
		}
		return n
	case syntax.OpAlternate:
		n := shortest(re.Sub[0])
		for _, sub := range re.Sub {
			n = min(n, shortest(sub))
		}
		return n
	}
	return 0
}
