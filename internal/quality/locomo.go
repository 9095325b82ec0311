// Package quality measures packs on real sessions: how much of what a question or the next step needs is in them, and
// how steady they are. `make bench-quality` prints its tables.
package quality

import (
	"fmt"
	"io"
	"strings"

	"ctxfs/internal/context/pack"
	"ctxfs/internal/context/recall"
	"ctxfs/internal/quality/corpus"
	"ctxfs/internal/record"
)

// Fold folds a whole log.
func Fold(t pack.Tokenizer, log []byte) (*pack.Workset, *record.Memory, error) {
	h := record.NewMemory(log)
	w := pack.NewWorkset(t)
	for n := 1; n <= h.Len(); n++ {
		if err := foldNext(w, h, n); err != nil {
			return nil, nil, err
		}
	}
	return w, h, nil
}

func foldNext(w *pack.Workset, h record.History, n int) error {
	raw, err := h.Raw(n)
	if err != nil {
		return err
	}
	r, err := h.Record(n)
	if err != nil {
		return err
	}
	w.Add(r, raw)
	return nil
}

// Recall is how many questions had some, and had all, of their evidence in the pack.
type Recall struct{ Any, All, Of int }

func (r *Recall) count(found, of int) {
	r.Of++
	if found > 0 {
		r.Any++
	}
	if found == of {
		r.All++
	}
}

// Add adds up two measurements.
func (r *Recall) Add(o Recall) {
	r.Any += o.Any
	r.All += o.All
	r.Of += o.Of
}

func (r Recall) String() string {
	n := max(float64(r.Of), 1)
	return fmt.Sprintf("any %.3f all %.3f", float64(r.Any)/n, float64(r.All)/n)
}

// Evidence asks each question of c with the budget, ranking without the techniques given, and looks for the words of its evidence in pack.md.
func Evidence(t pack.Tokenizer, c corpus.Conversation, budget int, without recall.Technique, misses io.Writer) (Recall, error) {
	w, h, err := Fold(t, c.Log)
	if err != nil {
		return Recall{}, err
	}
	var r Recall
	for _, q := range c.Questions {
		p, err := w.Build(pack.Input{Session: "s", Agent: "a", Budget: budget, History: h, Query: q.Text, Without: without})
		if err != nil {
			return r, err
		}
		if p.Tokens > budget {
			return r, fmt.Errorf("%d tokens for a budget of %d", p.Tokens, budget)
		}
		found := 0
		for _, e := range q.Evidence {
			if strings.Contains(string(p.Markdown), c.Texts[e-1]) {
				found++
			} else if misses != nil {
				fmt.Fprintf(misses, "%s cat %d: %q misses %d: %q\n", c.Name, q.Category, q.Text, e, c.Texts[e-1])
			}
		}
		r.count(found, len(q.Evidence))
	}
	return r, nil
}
