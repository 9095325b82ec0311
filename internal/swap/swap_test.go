package swap

import (
	"errors"
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

func line(n int) ([]byte, error) { return fmt.Appendf(nil, "{\"n\":%d}\n", n), nil }

func TestHashesStayWhileTheLogGrows(t *testing.T) {
	var small, large Tree
	for n := 1; n <= 300; n++ {
		l, _ := line(n)
		if n <= 100 {
			small.Add(l)
		}
		large.Add(l)
	}
	hash := func(t *Tree, r Range) Hash {
		h, _ := t.Hash(r, line)
		return h
	}
	seen := map[Hash]Range{}
	for a := 1; a <= 100; a++ {
		for b := a; b <= 100; b += 3 {
			r := Range{a, b}
			h := hash(&small, r)
			if h != hash(&large, r) {
				t.Fatalf("the hash of %v changed", r)
			}
			if o, dup := seen[h]; dup {
				t.Fatalf("%v and %v have one hash", o, r)
			}
			seen[h] = r
		}
	}
	for _, r := range []Range{{7, 7}, {5, 8}, {17, 32}} {
		var all []byte
		for n := r.A; n <= r.B; n++ {
			l, _ := line(n)
			all = append(all, l...)
		}
		if h := hash(&small, r); h != Sum(all) {
			t.Errorf("the hash of %v is not that of its bytes", r)
		}
	}
	if h := hash(&small, Range{33, 64}); h != join(hash(&small, Range{33, 48}), hash(&small, Range{49, 64})) {
		t.Error("the hash of 32 records is not that of its halves")
	}
	for _, r := range []Range{{33, 64}, {35, 36}} {
		id := RangeChunk(r, hash(&large, r)).ID()
		if got, ok, err := large.Find(id, 300, line); !ok || got != r || err != nil {
			t.Errorf("found %v %v %v", got, ok, err)
		}
		if _, ok, _ := large.Find(id, r.B-1, line); ok {
			t.Error("found a range that goes past upTo")
		}
	}
}

func TestUnreadableLines(t *testing.T) {
	var tree Tree
	for n := 1; n <= 20; n++ {
		l, _ := line(n)
		tree.Add(l)
	}
	unread := func(int) ([]byte, error) { return nil, errors.New("no disk") }
	if _, err := tree.Hash(Range{1, 16}, unread); err != nil {
		t.Errorf("whole parts need no line: %v", err)
	}
	if _, err := tree.Hash(Range{1, 17}, unread); err == nil {
		t.Error("an unread line has a hash")
	}
	if _, ok, err := tree.Find("blake3-", 20, unread); ok || err == nil {
		t.Error("an unread line was looked through")
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
