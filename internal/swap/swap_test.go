package swap

import (
	"fmt"
	"testing"
)

func TestSplitCoversInOrderAndIsAligned(t *testing.T) {
	for a := 1; a < 70; a++ {
		for b := a; b < 140; b++ {
			at := a
			for _, p := range (Range{a, b}).Split() {
				if n := p.Len(); p.A != at || n&(n-1) != 0 || (p.A-1)%n != 0 {
					t.Fatalf("%d-%d: part %v", a, b, p)
				}
				at = p.B + 1
			}
			if at != b+1 {
				t.Fatalf("%d-%d: parts end at %d", a, b, at-1)
			}
		}
	}
}

func TestHashesStayWhileTheLogGrows(t *testing.T) {
	var small, large Tree
	for i := 0; i < 300; i++ {
		line := fmt.Appendf(nil, "{\"n\":%d}\n", i)
		if i < 100 {
			small.Add(line)
		}
		large.Add(line)
	}
	seen := map[Hash]Range{}
	for a := 1; a <= 100; a++ {
		for b := a; b <= 100; b += 3 {
			r := Range{a, b}
			h := small.Hash(r)
			if h != large.Hash(r) {
				t.Fatalf("the hash of %v changed", r)
			}
			if o, dup := seen[h]; dup {
				t.Fatalf("%v and %v have one hash", o, r)
			}
			seen[h] = r
		}
	}
	if h := small.Hash(Range{7, 7}); h != Sum([]byte("{\"n\":6}\n")) {
		t.Errorf("a record's hash is not that of its line: %v", h)
	}
	id := RangeChunk(Range{33, 64}, small.Hash(Range{33, 64})).ID()
	if r, ok := large.Find(id, 300); !ok || r != (Range{33, 64}) {
		t.Errorf("found %v %v", r, ok)
	}
	if _, ok := large.Find(id, 63); ok {
		t.Error("found a range that goes past upTo")
	}
}

func FuzzParseRange(f *testing.F) {
	for _, s := range []string{"12", "12-18", "messages:3", "0", "5-4", "+1", "1-", "-", "99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRange(s)
		if err != nil {
			return
		}
		if again, err := ParseRange(r.Ref()); err != nil || again != r || r.A < 1 || r.B < r.A {
			t.Errorf("%q: %v, then %v %v", s, r, again, err)
		}
	})
}
