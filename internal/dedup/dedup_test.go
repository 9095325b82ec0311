package dedup

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestRepeats(t *testing.T) {
	x := New()
	a, b := strings.Repeat("a", 200), strings.Repeat("b", 200)
	for i, text := range []string{a, b, a, "short", "short", a} {
		last, again := x.Add(text, Place{uint32(i + 1), 1}, func() int { return 50 })
		want := map[int]uint32{2: 1, 5: 3}[i]
		if again != (want > 0) || last.Rec != want {
			t.Errorf("text %d: %v %v, want record %d", i, last, again, want)
		}
	}
	list := x.Entries()
	if len(list) != 1 || list[0].Bytes != 200 || list[0].Tokens != 50 || !slices.Equal(list[0].Places, []Place{{1, 1}, {3, 1}, {6, 1}}) {
		t.Fatalf("%+v", list)
	}
	if e, ok := x.Find(list[0].Hash); !ok || e.ID() != list[0].ID() {
		t.Errorf("not found by its hash")
	}
	if _, ok := x.Find([32]byte{1}); ok {
		t.Errorf("an unknown hash was found")
	}
}

func TestManyTexts(t *testing.T) {
	x := New()
	const texts = 5000
	for round := uint32(0); round < 3; round++ {
		for i := uint32(0); i < texts; i++ {
			last, again := x.Add(strings.Repeat(fmt.Sprintf("text %d ", i), 20), Place{round*texts + i + 1, 1 + i%3}, func() int { return int(i) })
			if again != (round > 0) || again && last != (Place{(round-1)*texts + i + 1, 1 + i%3}) {
				t.Fatalf("round %d, text %d: %v %v", round, i, last, again)
			}
		}
	}
	if n := len(x.Entries()); n != texts {
		t.Errorf("%d entries", n)
	}
}
