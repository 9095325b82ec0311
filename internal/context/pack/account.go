package pack

import (
	"sort"

	"ctxfs/internal/swap"
)

// maxMissed is how many of the records that match and did not fit are listed one by one; the others stand in ranges.
const maxMissed = 40

// account lists every record that is in no item: bad lines and near misses by themselves, the rest as ranges.
func (b *builder) account() {
	covered := b.coveredRanges()
	for _, r := range gaps(covered, b.w.Len()) {
		b.outRange(r)
	}
}

// itemRange gives the records of an item.
func itemRange(it Item) (swap.Range, bool) {
	if it.Source != messagesFile {
		return swap.Range{}, false
	}
	r, err := swap.ParseRange(it.Range)
	return r, err == nil
}

// coveredRanges gives what is accounted for one by one, sorted, after adding the rows for it.
func (b *builder) coveredRanges() []swap.Range {
	var out []swap.Range
	for i := range b.items {
		if r, ok := itemRange(b.items[i]); ok {
			out = append(out, r)
		}
	}
	for _, x := range b.w.bad {
		r := swap.Range{A: x.n, B: x.n}
		b.omitRange(r, Scores{}, outInvalid)
		out = append(out, r)
	}
	out = append(out, b.hiddenRanges(b.w.hidden[b.in.target()])...)
	if b.flow.noStartup {
		out = append(out, b.hiddenRanges(b.w.startup)...)
	}
	for i, m := range b.missed {
		if i == maxMissed {
			break
		}
		if !b.has(m.n) && !b.w.skips(m.n, b.flow.noStartup) && !b.w.isHidden(m.n, b.in.target()) {
			r := swap.Range{A: m.n, B: m.n}
			b.omitRange(r, Scores{Relevance: m.score}, outBudget)
			out = append(out, r)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].A < out[j].A })
	return out
}

// hiddenRanges adds a row for each run of records that are kept from the target.
func (b *builder) hiddenRanges(records []uint32) []swap.Range {
	var out []swap.Range
	for _, n := range records {
		if k := len(out) - 1; k >= 0 && out[k].B == int(n)-1 {
			out[k].B++
		} else {
			out = append(out, swap.Range{A: int(n), B: int(n)})
		}
	}
	for _, r := range out {
		b.omitRange(r, Scores{}, outHidden)
	}
	return out
}

// gaps gives what lies between sorted ranges in 1..n.
func gaps(covered []swap.Range, n int) []swap.Range {
	var out []swap.Range
	at := 1
	for _, r := range covered {
		if r.A > at {
			out = append(out, swap.Range{A: at, B: r.A - 1})
		}
		at = max(at, r.B+1)
	}
	if at <= n {
		out = append(out, swap.Range{A: at, B: n})
	}
	return out
}

// outRange lists records that nothing chose. What stands before a compaction is superseded by its text.
func (b *builder) outRange(r swap.Range) {
	if k := len(b.w.compact); k > 0 && r.A < int(b.w.compact[k-1]) {
		last := int(b.w.compact[k-1]) - 1
		b.omitRange(swap.Range{A: r.A, B: min(r.B, last)}, Scores{}, outSuperseded)
		if r.B <= last {
			return
		}
		r.A = last + 1
	}
	reason := outRelevance
	if b.in.Query == "" && b.user == 0 {
		reason = outBudget
	}
	b.omitRange(r, Scores{}, reason)
}

func (b *builder) omitRange(r swap.Range, s Scores, reason string) {
	b.omitted = append(b.omitted, Omitted{Kind: "messages", Source: messagesFile, Range: r.String(), Tokens: b.w.wholeTokens(r), Estimated: true,
		Digest: b.w.digest(r), Score: s.sum(), Parts: s, Reason: reason, Path: swap.OpenPath(r.Ref())})
}

// wholeTokens is what the records of r take when nothing is cut, markers included, by guesses.
func (w *Workset) wholeTokens(r swap.Range) int {
	m := w.measure(maxBlockTokens)
	return m.upTo(w, r.B) - m.upTo(w, r.A-1)
}
