package dedup

import (
	"slices"
	"strings"
	"testing"
)

func TestRepeats(t *testing.T) {
	x := New()
	a, b := strings.Repeat("a", 200), strings.Repeat("b", 200)
	for i, text := range []string{a, b, a, "short", "short", a} {
		last, again := x.Add(text, Place{uint32(i + 1), 1}, 50)
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
