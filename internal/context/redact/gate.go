package redact

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// gateSize is how many bytes from a keyword on are compared with what could stand there.
const gateSize = 16

// set is a set of ASCII characters.
type set [2]uint64

func (s *set) add(lo, hi rune) {
	for c := lo; c <= min(hi, 127); c++ {
		s[c>>6] |= 1 << (c & 63)
	}
}

func (s *set) has(c byte) bool { return s[c>>6]&(1<<(c&63)) != 0 }

// newGate gives the characters with which a match can begin, place by place, as far as no match can have ended before.
func newGate(re *syntax.Regexp) []set {
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil
	}
	var gate []set
	for states := closure(prog, []uint32{uint32(prog.Start)}); len(gate) < gateSize; {
		var here set
		var next []uint32
		for _, pc := range states {
			inst := &prog.Inst[pc]
			if inst.Op == syntax.InstMatch {
				return gate
			}
			here.addInst(inst)
			next = append(next, inst.Out)
		}
		gate = append(gate, here)
		states = closure(prog, next)
	}
	return gate
}

// addInst adds what an instruction matches.
func (s *set) addInst(inst *syntax.Inst) {
	for c := rune(0); c < 128; c++ {
		if inst.MatchRune(c) {
			s.add(c, c)
		}
	}
}

// closure follows the instructions that match no character, taking all conditions as true.
func closure(prog *syntax.Prog, from []uint32) []uint32 {
	seen := make([]bool, len(prog.Inst))
	var out []uint32
	for stack := slices.Clone(from); len(stack) > 0; {
		pc := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		switch inst := &prog.Inst[pc]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			stack = append(stack, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop, syntax.InstEmptyWidth:
			stack = append(stack, inst.Out)
		case syntax.InstFail:
		default:
			out = append(out, pc)
		}
	}
	return out
}

// passes tells whether the gate is open for the text from k on. Other than ASCII passes.
func passes(gate []set, text string, k int) bool {
	if len(text)-k < len(gate) {
		return false
	}
	for i := range gate {
		c := text[k+i]
		if c >= 128 {
			return true
		}
		if !gate[i].has(c) {
			return false
		}
	}
	return true
}

// operator is the part of gitleaks' patterns between a name and its secret; before it stand at most the rest of the name,
// 20 characters of words and 3 of quotes and spaces.
const (
	operator  = `(?:[ \t\w.-]{0,20})[\s'"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)`
	assignMax = 96
)

// anyName is how the patterns with the operator begin: with up to nameMax characters of the same word.
const (
	anyName = `(?i)[\w.-]{0,50}?`
	nameMax = 50
)

// nameByte tells what anyName matches, of ASCII.
func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-'
}

// assigns tells whether all matches of a pattern have the operator after their beginning.
func assigns(pattern string) bool {
	rest, ok := strings.CutPrefix(pattern, anyName+"(?:")
	if !ok {
		return false
	}
	name, _, ok := strings.Cut(rest, ")"+operator)
	return ok && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-,|") == "" || strings.HasPrefix(name, genericNames)
}

// genericNames is how the names of generic-api-key begin: there are groups among them.
const genericNames = "access|auth|(?-i:"

// assigned tells whether an operator can stand after the name that begins at k.
func assigned(text string, k int) bool {
	for _, c := range []byte(text[k:min(len(text), k+assignMax)]) {
		switch {
		case c >= 128, c == '=', c == '>', c == ':', c == '|', c == '?', c == ',':
			return true
		case nameByte(c), c == ' ', c == '\'', c == '"', c >= '\t' && c <= '\r':
		default:
			return false
		}
	}
	return false
}
