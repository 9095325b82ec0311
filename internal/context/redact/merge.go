package redact

import (
	"slices"
	"strings"
)

// How much of what was found is taken.
const (
	secretOnly = iota
	wholeMatch
	everything
)

// find gives what the rules find in a text, as it can be masked.
func (r *Rules) find(text string, breadth int) []Finding {
	blanked, masks := r.blank(text)
	hits := r.scanText(blanked)
	if plain, ok := unescape(blanked); ok {
		hits = append(hits, r.scanText(plain)...)
	}
	if len(hits) == 0 {
		return nil
	}
	var out []Finding
	for _, h := range hits {
		f := Finding{Rule: h.rule.ID, Start: h.start, End: h.end}
		if breadth == wholeMatch {
			f.Start, f.End = h.from, h.until
		}
		out = append(out, f)
	}
	out = bare(fit(text, overMasks(join(out), masks)), masks)
	if breadth == everything && len(out) > 0 {
		out = bare(fit(text, []Finding{{Rule: out[0].Rule, End: len(text)}}), masks)
	}
	return out
}

// join makes one finding of those that overlap, by the better name.
func join(list []Finding) []Finding {
	slices.SortStableFunc(list, func(a, b Finding) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return b.End - a.End
	})
	var out []Finding
	for _, f := range list {
		n := len(out)
		if n == 0 || f.Start >= out[n-1].End {
			out = append(out, f)
			continue
		}
		last := &out[n-1]
		last.Rule = better(*last, f)
		last.End = max(last.End, f.End)
		last.quote = last.quote || f.quote
	}
	return out
}

// better is the name that says most: not a generic one, of the longer finding, the first in the alphabet.
func better(a, b Finding) string {
	ga, gb := strings.HasPrefix(a.Rule, "generic"), strings.HasPrefix(b.Rule, "generic")
	la, lb := a.End-a.Start, b.End-b.Start
	switch {
	case ga != gb && ga, ga == gb && lb > la, ga == gb && lb == la && b.Rule < a.Rule:
		return b.Rule
	}
	return a.Rule
}

// overMasks extends findings over the masks that they overlap.
func overMasks(list []Finding, masks []piece) []Finding {
	if len(masks) == 0 {
		return list
	}
	for i := range list {
		f := &list[i]
		for len(masks) > 0 && masks[0].end <= f.Start {
			masks = masks[1:]
		}
		for j := 0; j < len(masks) && masks[j].start < f.End; j++ {
			f.Start, f.End = min(f.Start, masks[j].start), max(f.End, masks[j].end)
		}
	}
	return join(list)
}

// bare drops findings that are nothing but masks.
func bare(list []Finding, masks []piece) []Finding {
	return slices.DeleteFunc(list, func(f Finding) bool {
		i, _ := slices.BinarySearchFunc(masks, f.Start, func(m piece, at int) int { return m.end - at - 1 })
		at := f.Start
		for ; i < len(masks) && masks[i].start <= at && at < f.End; i++ {
			at = masks[i].end
		}
		return at >= f.End
	})
}
