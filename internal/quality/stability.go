package quality

import (
	"ctxfs/internal/context/pack"
	"ctxfs/internal/quality/corpus"
	"ctxfs/internal/record"
)

// Stability is how much of each pack's text the next append left as it was.
type Stability struct {
	Share    float64 // summed share of a pack's bytes that are a prefix of the next pack
	Packs    int
	Over     float64 // the same, of packs of logs that are over the budget
	OverOf   int
	Reshaped int // appends that left less than half
	Used     float64
}

// Add adds up two measurements.
func (s *Stability) Add(o Stability) {
	s.Share += o.Share
	s.Packs += o.Packs
	s.Over += o.Over
	s.OverOf += o.OverOf
	s.Reshaped += o.Reshaped
	s.Used += o.Used
}

// Replay builds a pack after each record of a session and compares it with the one before.
func Replay(t pack.Tokenizer, s corpus.Session, budget int) (Stability, error) {
	var out Stability
	h := record.NewMemory(s.Log)
	w := pack.NewWorkset(t)
	var last []byte
	for n := 1; n <= h.Len(); n++ {
		if err := foldNext(w, h, n); err != nil {
			return out, err
		}
		p, err := w.Build(pack.Input{Session: "s", Agent: "a", Budget: budget, History: h})
		if err != nil {
			return out, err
		}
		if n > 1 {
			share := float64(common(last, p.Markdown)) / float64(len(last))
			out.Share += share
			out.Packs++
			if w.Tokens() > budget {
				out.Over += share
				out.OverOf++
				out.Used += float64(p.Tokens) / float64(budget)
			}
			if share < 0.5 {
				out.Reshaped++
			}
		}
		last = p.Markdown
	}
	return out, nil
}

func common(a, b []byte) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return i
}
