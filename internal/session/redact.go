package session

import (
	"slices"

	"ctxfs/internal/context/pack"
	"ctxfs/internal/context/redact"
)

// RedactFile is where a session's own rules for secrets stand, beside those that ctxfs has.
const RedactFile = "context/redact"

func checkRedact(_ *Session, data []byte, _ Caller) ([]byte, error) {
	if _, err := redact.ParseOwn(data); err != nil {
		return nil, refuse(Invalid, "redact: %v", err)
	}
	return data, nil
}

// rules returns the rules for secrets of a session whose RedactFile holds own.
func (s *Store) rules(own []byte) (*redact.Rules, error) {
	rules, err := s.redact()
	if err != nil {
		return nil, err
	}
	return withOwn(rules, own), nil
}

// withOwn adds a session's own rules. Own rules that cannot be parsed, as they were written past ctxfs, do not lift the others.
func withOwn(rules *redact.Rules, own []byte) *redact.Rules {
	list, err := redact.ParseOwn(own)
	if err != nil || len(list) == 0 {
		return rules
	}
	return rules.With(list)
}

// Masker returns a function that masks the secrets of a text, for a program that shows what it reads of a session whose
// RedactFile holds own.
func Masker(own []byte) (func(text string) string, error) {
	rules, err := redact.Default()
	if err != nil {
		return nil, err
	}
	rules = withOwn(rules, own)
	return func(text string) string { text, _ = rules.Mask(text); return text }, nil
}

// masker returns a function that masks by rules, and one that counts the masks in a text.
func masker(rules *redact.Rules) (pack.MaskFunc, func(text string) []pack.Masked) {
	mask := func(text string) (string, []pack.Masked) {
		masked, found := rules.Mask(text)
		var names []string
		for _, f := range found {
			names = append(names, f.Rule)
		}
		return masked, counted(names)
	}
	return mask, func(text string) []pack.Masked { return counted(rules.Masks(text)) }
}

// counted counts each name, in the order of the names; nil when there are none.
func counted(names []string) (out []pack.Masked) {
	slices.Sort(names)
	for _, name := range names {
		if n := len(out); n == 0 || out[n-1].Rule != name {
			out = append(out, pack.Masked{Rule: name})
		}
		out[len(out)-1].Count++
	}
	return out
}
