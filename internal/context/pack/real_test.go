package pack

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"testing"

	"ctxfs/internal/quality/corpus"
	"ctxfs/internal/record"
)

// realBudgets are those of the issue.
func realBudgets() []int { return []int{500, 2000, 8000, 32000, 128000} }

// cuts is how many points of each session are checked beside its end. CTXFS_TEST_CUTS sets another count.
func cuts() int {
	if n, err := strconv.Atoi(os.Getenv("CTXFS_TEST_CUTS")); err == nil && n > 0 {
		return n
	}
	if testing.Short() || slow {
		return 1
	}
	return 6
}

// cutPoints spreads points over a log of n records: evenly by number, shifted by the session's own number so that
// they do not all fall on the same places, and always the end.
func cutPoints(n, number int) map[int]bool {
	points := map[int]bool{n: true}
	for i := 1; i <= cuts(); i++ {
		at := n * i / (cuts() + 1)
		points[min(max(at+number%7-3, 1), n)] = true
	}
	return points
}

// TestInvariantsOnRealSessions checks every session at several points of its growth and at all budgets.
func TestInvariantsOnRealSessions(t *testing.T) {
	list := sessions(t)
	if testing.Short() || slow {
		list = every(list, 12)
	}
	for i, s := range list {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			overGrowth(t, s, i)
		})
	}
}

func every(list []corpus.Session, step int) []corpus.Session {
	var out []corpus.Session
	for i := 0; i < len(list); i += step {
		out = append(out, list[i])
	}
	return out
}

// overGrowth folds a session record by record and checks packs at its cut points.
func overGrowth(t *testing.T, s corpus.Session, number int) {
	h := record.NewMemory(s.Log)
	w := NewWorkset(counter(t))
	points := cutPoints(h.Len(), number)
	for n := 1; n <= h.Len(); n++ {
		add(t, w, h, n)
		if !points[n] {
			continue
		}
		for k, b := range realBudgets() {
			in := inputAt(s.Name, h, b, n+k)
			p := buildIn(t, w, in)
			hold(t, w, in, p)
			if n == h.Len() || (n+k)%4 == 0 {
				again(t, w, in, p)
			}
		}
		if n == h.Len() {
			anew(t, w, h, s.Name)
		}
	}
}

// again builds the same pack a second time, after one of another budget.
func again(t testing.TB, w *Workset, in Input, p *Pack) {
	t.Helper()
	other := in
	other.Budget = in.Budget*2 + 77
	buildIn(t, w, other)
	if q := buildIn(t, w, in); !bytes.Equal(p.Markdown, q.Markdown) || !bytes.Equal(p.JSON, q.JSON) {
		t.Errorf("%d records, budget %d: built again, the pack is another one", w.Len(), in.Budget)
	}
}

// anew folds the log without building packs on the way, and compares what that gives.
func anew(t *testing.T, w *Workset, h *record.Memory, name string) {
	t.Helper()
	fresh := NewWorkset(counter(t))
	for n := 1; n <= h.Len(); n++ {
		add(t, fresh, h, n)
	}
	for k, b := range realBudgets() {
		in := inputAt(name, h, b, k)
		p, q := buildIn(t, w, in), buildIn(t, fresh, in)
		if !bytes.Equal(p.Markdown, q.Markdown) || !bytes.Equal(p.JSON, q.JSON) {
			t.Errorf("%d records, budget %d: folded anew, the pack is another one", w.Len(), b)
		}
	}
}

func buildIn(t testing.TB, w *Workset, in Input) *Pack {
	t.Helper()
	p, err := w.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// inputKinds is how many kinds of input inputAt makes.
const inputKinds = 6

// inputAt is an input that varies with seed: plain, with a question, with pinned files and children, with an agent's own
// files, with a reserve.
func inputAt(name string, h record.History, budget, seed int) Input {
	in := Input{Session: name, Agent: "a", Budget: budget, History: h}
	switch seed % inputKinds {
	case 1:
		in.Query = "why did the test fail and what was decided about the file?"
	case 2:
		in.Pinned = []File{{"context/pinned/a.ref", fmt.Appendf(nil, "messages:1\nmessages:%d-%d\nchild:one\nswap:blake3-no\n", seed%50+1, seed%50+3)},
			{"context/pinned/rules.md", []byte("Keep to the rules.\n```\n````\n## not a heading\n")}}
		in.Children = []Child{{ID: "one", Status: "done\n", Result: bytes.Repeat([]byte("The child found a thing.\n"), 40)},
			{ID: "two", Status: "active", Handoff: []byte("Look at the thing.\n")}}
	case 3:
		in.Authored = Authored{Summary: bytes.Repeat([]byte("It went on and on.\n"), 200), Facts: []byte(`{"id":"f1","text":"so it is","source":"messages:1"}` + "\n"), Todo: []byte{}}
	case 4:
		in.Reserve = budget / 4
	}
	return in
}
