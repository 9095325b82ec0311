package quality

import (
	"slices"

	"ctxfs/internal/context/pack"
	"ctxfs/internal/quality/corpus"
	"ctxfs/internal/record"
	"ctxfs/internal/swap"
)

// Sessions builds the pack at each need of h, with the user's own words as the query, and looks for records of the
// sessions that the answer draws on.
func Sessions(t pack.Tokenizer, c corpus.History, budget int) (Recall, error) {
	var out Recall
	h := record.NewMemory(c.Log)
	w := pack.NewWorkset(t)
	for _, need := range c.Needs {
		for w.Len() < need.At {
			if err := foldNext(w, h, w.Len()+1); err != nil {
				return out, err
			}
		}
		p, err := w.Build(pack.Input{Session: "s", Agent: "a", Budget: budget, History: h})
		if err != nil {
			return out, err
		}
		var shown []int
		for _, it := range p.Items {
			r, err := swap.ParseRange(it.Range)
			if err != nil || it.Source != "messages.jsonl" {
				continue
			}
			for n := r.A; n <= r.B; n++ {
				shown = append(shown, c.SessionOf[n-1])
			}
		}
		found := 0
		for _, s := range need.Sessions {
			if slices.Contains(shown, s) {
				found++
			}
		}
		out.count(found, len(need.Sessions))
	}
	return out, nil
}
