package bundle

import "ctxfs/internal/context/recall"

// thesaurus knows which entries have which terms.
type thesaurus struct {
	split  *recall.Splitter
	known  map[string][]uint32 // by text: most entries stand in many contexts
	held   []*held
	posts  map[uint32][]int32 // of each term, places in held
	shared []int32            // by place: terms shared with the entry that novelty looks at
}

func newThesaurus() *thesaurus {
	return &thesaurus{split: recall.NewSplitter(), known: map[string][]uint32{}, posts: map[uint32][]int32{}}
}

func (t *thesaurus) of(text string) []uint32 {
	terms, ok := t.known[text]
	if !ok {
		terms = t.split.Terms(text)
		t.known[text] = terms
	}
	return terms
}

// add takes in the terms of an entry.
func (t *thesaurus) add(h *held) {
	for _, term := range h.terms {
		t.posts[term] = append(t.posts[term], int32(len(t.held)))
	}
	t.held, t.shared = append(t.held, h), append(t.shared, 0)
}

// tidy forgets the entries that are out when they are more than those in force.
func (t *thesaurus) tidy(force []*held) {
	if len(t.held) <= 2*len(force)+64 {
		return
	}
	t.held, t.shared, t.posts = nil, nil, map[uint32][]int32{}
	for _, h := range force {
		t.add(h)
	}
}

// novelty is 1 less the largest share of h's terms that another entry has which was in force before the step.
func (t *thesaurus) novelty(h *held, step int) float64 {
	if len(h.terms) == 0 {
		return 0
	}
	clear(t.shared)
	for _, term := range h.terms {
		for _, i := range t.posts[term] {
			t.shared[i]++
		}
	}
	most := int32(0)
	for i, o := range t.held {
		if o != h && o.born < step && (o.died == 0 || o.died >= step) {
			most = max(most, t.shared[i])
		}
	}
	return 1 - float64(most)/float64(len(h.terms))
}

// share is |a∩b| / |b|, 0 when b is empty.
func share(a, b []uint32) float64 {
	if len(b) == 0 {
		return 0
	}
	return float64(common(a, b)) / float64(len(b))
}

// drift is 1 - |a∩b| / |a∪b|, 0 when both are empty.
func drift(a, b []uint32) float64 {
	n := common(a, b)
	if all := len(a) + len(b) - n; all > 0 {
		return 1 - float64(n)/float64(all)
	}
	return 0
}

// common counts what two ascending lists share.
func common(a, b []uint32) int {
	n := 0
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			n, a, b = n+1, a[1:], b[1:]
		}
	}
	return n
}
