package recall

import (
	"cmp"
	"math/rand"
	"slices"
	"sort"
	"testing"
)

func TestBest(t *testing.T) {
	parts := []string{"the first lines of a log", "error: disk full while writing the index", "more lines about the log and the disk", ""}
	for query, want := range map[string]int{"why was the disk full?": 1, "logs": 0, "indexWriting": 1, "nothing like it": -1, "": -1} {
		if got := Best(query, parts); got != want {
			t.Errorf("%q: part %d, want %d", query, got, want)
		}
	}
	if got := Best("log", nil); got != -1 {
		t.Errorf("of no parts: %d", got)
	}
}

// TestSkipOf compares the search with halving, over keys that are spread evenly and over those that are not.
func TestSkipOf(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	for _, shift := range []int{0, 4, 16, 31} {
		for _, n := range []int{0, 1, 2, 15, 1000} {
			p := part{}
			for range n {
				p.skips = append(p.skips, skip{key: rnd.Uint32() >> shift})
			}
			slices.SortFunc(p.skips, func(a, b skip) int { return cmp.Compare(a.key, b.key) })
			for range 500 {
				key := rnd.Uint32() >> rnd.Intn(32)
				want := sort.Search(n, func(i int) bool { return p.skips[i].key > key }) - 1
				if got := p.skipOf(key); got != want {
					t.Fatalf("%d keys of %d bits: key %d is at %d, want %d", n, 32-shift, key, got, want)
				}
			}
		}
	}
}
