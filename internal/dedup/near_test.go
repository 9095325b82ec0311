package dedup

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// testLog is a text of 60 lines, those named changed.
func testLog(name string, changed ...int) string {
	var out strings.Builder
	for i := range 60 {
		if slices.Contains(changed, i) {
			fmt.Fprintf(&out, "%s: line %d is another one\n", name, i)
		} else {
			fmt.Fprintf(&out, "line %d of the log\n", i)
		}
	}
	return out.String()
}

func TestNear(t *testing.T) {
	other := strings.Repeat("something else entirely, line by line\n", 40)
	x := NewNear()
	for i, c := range []struct {
		text string
		want []uint32 // records
	}{
		{testLog("a"), nil},
		{other, nil},
		{testLog("b", 3), []uint32{1}},
		{testLog("b", 3, 4), []uint32{3, 1}},
		{"line 1 of the log\n", nil}, // too small
		{other + "and more\n", []uint32{2}},
	} {
		var got []uint32
		for _, l := range x.Add(c.text, Place{uint32(i + 1), 1}) {
			got = append(got, l.At.Rec)
			if l.Shared < nearShare || l.Shared > 1 {
				t.Errorf("text %d: shares %v with %v", i+1, l.Shared, l.At)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("text %d is like %v, want %v", i+1, got, c.want)
		}
	}
}

// TestNearForgets checks that only the latest texts are remembered, and nothing of others.
func TestNearForgets(t *testing.T) {
	x := NewNear()
	for i := range 1000 {
		text := strings.Repeat(fmt.Sprintf("text %d\n", i), 10) + strings.Repeat(fmt.Sprintf("more of %d\n", i), 200)
		if like := x.Add(text, Place{uint32(i + 1), 1}); like != nil {
			t.Fatalf("text %d is like %v", i, like)
		}
	}
	if len(x.lines) != 2*nearTexts {
		t.Errorf("%d lines are remembered, want %d", len(x.lines), 2*nearTexts)
	}
	if like := x.Add(strings.Repeat("more of 1\n", 200), Place{1001, 1}); like != nil {
		t.Errorf("a forgotten text is found: %v", like)
	}
	if like := x.Add(strings.Repeat("more of 990\n", 200), Place{1002, 1}); len(like) != 1 || like[0].At.Rec != 991 {
		t.Errorf("a recent text is not found: %v", like)
	}
}

func BenchmarkNear(b *testing.B) {
	x := NewNear()
	text := testLog("x")
	b.SetBytes(int64(len(text)))
	for i := 0; i < b.N; i++ {
		x.Add(testLog("x", i%60), Place{uint32(i), 1})
	}
}
