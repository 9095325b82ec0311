package recall

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestAskedAgain asks a growing index, some times the same, and compares with one that was never asked before: what is kept of
// the last query must not show.
func TestAskedAgain(t *testing.T) {
	rnd := rand.New(rand.NewSource(3))
	words := func(n int) string {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "word%d ", int(rnd.ExpFloat64()*300))
		}
		return b.String()
	}
	at := time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)
	x := NewIndex()
	var texts []string
	query := ""
	for n := 1; n <= 700; n++ {
		texts = append(texts, words(200))
		x.Add(at.Add(time.Duration(n)*time.Minute), texts[n-1])
		if n%6 == 1 {
			query = words(10+rnd.Intn(120)) + "in May 2026"
		}
		upTo := max(n-rnd.Intn(400), 1)
		got := x.Rank(query, upTo, 20, 0)
		if n%20 > 1 {
			continue // they are asked, but to compare all takes long
		}
		fresh := NewIndex()
		for i, text := range texts {
			fresh.Add(at.Add(time.Duration(i+1)*time.Minute), text)
		}
		if want := fresh.Rank(query, upTo, 20, 0); !slices.Equal(got, want) {
			t.Fatalf("%d records, up to %d: %v, want %v", n, upTo, got, want)
		}
	}
	if len(x.parts) < 2 {
		t.Error("the test packs too little")
	}
}
