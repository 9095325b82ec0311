package pack

import (
	"os"
	"testing"

	"ctxfs/internal/quality/corpus"
	"ctxfs/internal/record"
)

// cuts is how many points of each session are checked; CTXFS_TEST_CUTS=all checks 100.
func cuts() int {
	if os.Getenv("CTXFS_TEST_CUTS") == "all" {
		return 100
	}
	return 4
}

// sessions gives all real sessions: coding agents' and conversations.
func sessions(t *testing.T) []corpus.Session {
	t.Helper()
	dir := corpus.Dir()
	if dir == "" {
		t.Skip("SKIP: ../shared/data is not here")
	}
	list, err := corpus.Coding(dir)
	if err != nil {
		t.Fatal(err)
	}
	convs, err := corpus.LoCoMo(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range convs {
		list = append(list, c.Session)
	}
	return list
}

// TestInvariantsOnRealSessions checks every session at several points of its growth and at all budgets.
func TestInvariantsOnRealSessions(t *testing.T) {
	for _, s := range sessions(t) {
		h := record.NewMemory(s.Log)
		w := NewWorkset(counter(t))
		every := h.Len()/cuts() + 1
		for n := 1; n <= h.Len(); n++ {
			add(t, w, h, n)
			if n != h.Len() && n%every != 0 {
				continue
			}
			for _, b := range []int{500, 2000, 8000, 32000, 128000} {
				in := Input{Session: s.Name, Agent: "a", Budget: b, History: h}
				p, err := w.Build(in)
				if err != nil {
					t.Fatal(err)
				}
				hold(t, w, in, p)
			}
		}
	}
}
