package compile

import (
	"strings"

	"ctxfs/internal/swap"
)

// claims are the sentences of the agent's newest message: what it says now, of which nobody has judged anything yet. One that
// says that something works is contradicted by the tool result before it, when that failed.
func (b *builder) claims() (out []Review) {
	for i := len(b.log) - 1; i >= 0; i-- {
		r := &b.log[i]
		if r.Role != "assistant" || r.Words() == "" {
			continue
		}
		for k, s := range sentences(r.Words()) {
			c := Review{ID: msgRef(r.N) + "#" + swap.Range{A: k + 1, B: k + 1}.String(), Kind: "claim", Text: shown(s, maxReviewText), Prov: b.recordProv(r.N), Time: stamp(r.Time),
				from: r.N, marks: marks(s), failed: succeeds(s)}
			c.Signals = Signals{Authority: byAgent, Age: b.age(r.Time)}
			if last := b.resultBefore(r.N); c.failed && last != nil && last.failed {
				c.Signals.Contradiction, c.ContradictedBy = -perDenial, []string{swap.BlockRef(last.n, last.block)}
			}
			out = append(out, c)
		}
		return out
	}
	return nil
}

func (b *builder) resultBefore(n int) *result {
	for i := len(b.results) - 1; i >= 0; i-- {
		if b.results[i].n < n {
			return &b.results[i]
		}
	}
	return nil
}

// sentences gives the first prose sentences of a text.
func sentences(text string) (out []string) {
	for l := range strings.Lines(text) {
		l = strings.TrimLeft(strings.TrimSpace(l), "-*• ")
		if len(l) < 12 || strings.ContainsAny(l[:1], "<>{[|#/`=+$@") {
			continue
		}
		for s := range strings.SplitSeq(strings.ReplaceAll(l, ". ", ".\n"), "\n") {
			if s = strings.TrimSpace(s); len(s) >= 12 && len(s) <= maxReviewText && !strings.HasSuffix(s, "?") {
				out = append(out, s)
			}
			if len(out) == maxClaims {
				return out
			}
		}
	}
	return out
}

// corroborate looks for what is reviewed in the results of tools: one that names enough of the same things bears it out, when
// it did not fail. All are searched at once, each result one time.
func (b *builder) corroborate() {
	of := map[string][]int{}
	for i := range b.reviews {
		for _, m := range b.reviews[i].marks {
			of[m] = append(of[m], i)
		}
	}
	if len(of) == 0 {
		return
	}
	for k := len(b.results) - 1; k >= 0; k-- {
		x := &b.results[k]
		if x.failed {
			continue
		}
		found := map[string]bool{}
		eachMark(x.text, func(m string) {
			if of[m] != nil {
				found[m] = true
			}
		})
		hits := map[int]int{}
		for m := range found {
			for _, i := range of[m] {
				hits[i]++
			}
		}
		for i, n := range hits {
			r := &b.reviews[i]
			if n >= enough(len(r.marks)) && len(r.CorroboratedBy) < maxWitnesses {
				r.CorroboratedBy = append(r.CorroboratedBy, swap.BlockRef(x.n, x.block))
				r.Signals.Corroboration = round(r.Signals.Corroboration + perWitness)
			}
		}
	}
}
