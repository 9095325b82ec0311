package recall

import (
	"slices"
	"testing"
)

func TestSplitter(t *testing.T) {
	s := NewSplitter()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"unmount the mounts, unmount", "mounts UNMOUNT", true},
		{"the of and", "", true},
		{"one thing", "another thing", false},
	} {
		a := s.Terms(c.a)
		b := s.Terms(c.b)
		if slices.Equal(a, b) != c.same {
			t.Errorf("terms of %q are %v, of %q %v", c.a, a, c.b, b)
		}
		if !slices.IsSorted(a) || len(slices.Compact(slices.Clone(a))) != len(a) {
			t.Errorf("terms of %q are not distinct and sorted: %v", c.a, a)
		}
	}
	if len(s.Terms("unmount the mounts")) != 2 {
		t.Errorf("terms: %v", s.Terms("unmount the mounts"))
	}
}
