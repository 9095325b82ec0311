package session

import (
	"regexp"
	"strings"

	"ctxfs/internal/context/bundle"
	"ctxfs/internal/context/pack"
	"ctxfs/internal/record"
	"ctxfs/internal/swap"
)

// cite marks the entries that later words refer to: records of the pack by their evidence_refs, and what an agent wrote down
// itself. Who is cited was of use: the bundle holds it for validated.
func (x *Session) cite(c *bundle.Context, p *pack.Pack, in pack.Input) {
	refs := map[string]bool{}
	for i := range p.Items {
		r, err := swap.ParseRange(p.Items[i].Range)
		if err != nil || p.Items[i].Source != Messages {
			continue
		}
		for n := r.A; n <= r.B; n++ {
			raw, err := in.History.Raw(n)
			if err != nil {
				continue // the pack was built from it a moment ago
			}
			for _, ref := range record.ParseIDs(raw).Evidence {
				refs[ref] = true
			}
		}
	}
	named := regexp.MustCompile(`messages:[0-9]+`)
	a := in.Authored
	for _, text := range [][]byte{a.Summary, a.Facts, a.Decisions, a.Todo, a.Refs} {
		for _, ref := range named.FindAll(text, -1) {
			refs[string(ref)] = true
		}
	}
	for i := range c.Items {
		item := &c.Items[i]
		if refs[strings.TrimPrefix(item.UnitRef, "context/swap/open/")] || item.Subject != "" && refs[item.Subject] {
			item.Cited = true
		}
	}
}
