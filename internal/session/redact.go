package session

import (
	"cmp"
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

// rules gives the rules for secrets of a session whose own are own. Those that cannot be read, as they were written past ctxfs,
// do not lift the others.
func (x *Session) rules(own []byte) (*redact.Rules, error) {
	rules, err := x.store.redact()
	if err != nil {
		return nil, err
	}
	list, err := redact.ParseOwn(own)
	if err != nil || len(list) == 0 {
		return rules, nil
	}
	return rules.With(list), nil
}

// masker masks by the rules, and counts what it masked.
func masker(rules *redact.Rules) pack.MaskFunc {
	return func(text string) (string, []pack.Masked) {
		masked, found := rules.Mask(text)
		if len(found) == 0 {
			return text, nil
		}
		var out []pack.Masked
		for _, f := range found {
			i, ok := slices.BinarySearchFunc(out, f.Rule, func(m pack.Masked, rule string) int { return cmp.Compare(m.Rule, rule) })
			if !ok {
				out = slices.Insert(out, i, pack.Masked{Rule: f.Rule})
			}
			out[i].Count++
		}
		return masked, out
	}
}
