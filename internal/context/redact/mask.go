package redact

import "strings"

const (
	maskBegin = "[redacted:"
	maskEnd   = "]"

	// MaxGrow is how many bytes one finding at most adds to a masked text: a mask with the longest name, in quotes.
	MaxGrow = len(maskBegin) + MaxOwnName + len(maskEnd) + 2

	narrowRounds = 4 // that mask secrets only
	wideRounds   = 4 // that mask all of what matched
)

// Mask puts [redacted:RULE] in place of each secret, and tells what it replaced, in places of the text that it got.
// Find finds nothing in what it gives, and Mask changes nothing in it. A text that is JSON, or that has lines that are,
// stays so: a mask begins and ends in one string, and a number becomes a string. The result is at most MaxGrow bytes
// longer for each finding.
//
// What is left after a mask can be a secret again (the second -u of a curl), so it looks until there is none. After some
// rounds it takes the matches with their keywords, and in the end everything.
func (r *Rules) Mask(text string) (string, []Finding) {
	var done []Finding
	shown := text
	for round := 0; ; round++ {
		breadth := secretOnly
		if round >= narrowRounds {
			breadth = wholeMatch
		}
		if round >= narrowRounds+wideRounds {
			breadth = everything
		}
		found := r.find(shown, breadth)
		if len(found) == 0 || round > narrowRounds+wideRounds {
			return shown, done
		}
		done = join(append(done, back(found, done)...))
		shown = render(text, done)
	}
}

func (f Finding) mask() string {
	if f.quote {
		return `"` + maskBegin + f.Rule + maskEnd + `"`
	}
	return maskBegin + f.Rule + maskEnd
}

func render(text string, list []Finding) string {
	var out strings.Builder
	at := 0
	for _, f := range list {
		out.WriteString(text[at:f.Start])
		out.WriteString(f.mask())
		at = f.End
	}
	out.WriteString(text[at:])
	return out.String()
}

// back gives findings in a masked text their places in the text before: done is what was masked in it.
func back(found, done []Finding) []Finding {
	out := make([]Finding, 0, len(found))
	i, moved := 0, 0 // done[:i] stand before, and made the text longer by moved
	for _, f := range found {
		for i < len(done) && done[i].Start+moved+len(done[i].mask()) <= f.Start {
			moved += len(done[i].mask()) - (done[i].End - done[i].Start)
			i++
		}
		j, end := i, moved
		for j < len(done) && done[j].Start+end < f.End {
			end += len(done[j].mask()) - (done[j].End - done[j].Start)
			j++
		}
		f.Start, f.End = f.Start-moved, f.End-end
		out = append(out, f)
	}
	return out
}

// Masks returns the rules of the masks that stand in a text, in their order.
func (r *Rules) Masks(text string) (rules []string) {
	_, masks := r.blank(text)
	for _, m := range masks {
		rules = append(rules, text[m.start+len(maskBegin):m.end-len(maskEnd)])
	}
	return rules
}

// blank overwrites the masks in a text, so that nothing is found in their names; it tells where they are.
func (r *Rules) blank(text string) (string, []piece) {
	var masks []piece
	for at := 0; ; {
		i := strings.Index(text[at:], maskBegin)
		if i < 0 {
			break
		}
		start := at + i
		at = start + len(maskBegin)
		rest := text[at:min(len(text), at+MaxOwnName+len(maskEnd))]
		name, _, ok := strings.Cut(rest, maskEnd)
		if !ok || !r.names[name] {
			continue
		}
		at += len(name) + len(maskEnd)
		masks = append(masks, piece{start, at})
	}
	if len(masks) == 0 {
		return text, nil
	}
	out := []byte(text)
	for _, m := range masks {
		for i := m.start; i < m.end; i++ {
			out[i] = '['
		}
	}
	return string(out), masks
}
