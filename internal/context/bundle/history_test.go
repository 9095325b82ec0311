package bundle

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// at is a context of items, made at hour h.
func at(h int, query string, items ...Item) Context {
	return Context{CreatedAt: fmt.Sprintf("2026-06-21T%02d:00:00Z", h), Query: query, Budget: 1000, Items: items}
}

// told writes lines in short: "8 commit a active", "9 supersede b active a".
func told(lines []Line) string {
	var out []string
	for _, l := range lines {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", strings.TrimPrefix(l.TS[11:13], "0"), l.Decision, l.EntryID, l.Status, l.Supersedes)))
	}
	return strings.Join(out, "\n")
}

func TestHistory(t *testing.T) {
	word := func(id string) Item { return Item{ID: id, Slot: "evidence", Content: id, Tokens: 10, Log: true} }
	fact := func(id string) Item { return Item{ID: id, Slot: "fact", Content: id, Tokens: 10, Inferred: true} }
	with := func(x Item, f func(*Item)) Item { f(&x); return x }
	about := func(x Item, subject string) Item { x.Subject = subject; return x }
	instead := func(x Item, of string) Item { x.Supersedes = of; return x }
	omit := func(c Context, ids ...string) Context { c.Omitted = ids; return c }
	for _, c := range []struct {
		name     string
		contexts []Context
		want     string // lines
		force    string // ids
	}{
		{"nothing was shown", []Context{at(8, "", word("a"), fact("f"))}, "8 commit a active\n8 commit f hypothesis", "a f"},
		{"the same again", []Context{at(8, "", word("a")), at(9, "", word("a"))}, "8 commit a active", "a"},
		{"left for the budget", []Context{at(8, "", fact("f")), omit(at(9, "", word("a")), "f")}, "8 commit f hypothesis\n9 evict f hypothesis\n9 commit a active", "a"},
		{"of the log: left, and back", []Context{at(8, "", word("a")), at(9, ""), at(10, "", word("a"))}, "8 commit a active\n9 evict a active\n10 commit a active", "a"},
		{"its source was removed", []Context{at(8, "", fact("f")), at(9, "")}, "8 commit f hypothesis\n9 deprecate f deprecated", ""},
		{"withdrawn", []Context{at(8, "", word("a")), at(9, "", with(word("a"), func(x *Item) { x.Withdrawn = true }))}, "8 commit a active\n9 deprecate a deprecated", ""},
		{"withdrawn at once", []Context{at(8, "", with(word("a"), func(x *Item) { x.Withdrawn = true }))}, "", ""},
		{"a newer read of a file", []Context{at(8, "", about(word("r1"), "file:x")), at(9, "", about(word("r2"), "file:x"))}, "8 commit r1 active\n9 supersede r2 active r1", "r2"},
		{"and back to the old content", []Context{at(8, "", about(word("r1"), "file:x")), at(9, "", about(word("r2"), "file:x")), at(10, "", about(word("r1"), "file:x"))},
			"8 commit r1 active\n9 supersede r2 active r1\n10 supersede r1 active r2", "r1"},
		{"a decision that says so", []Context{at(8, "", about(fact("e1"), "d#1")), at(9, "", about(fact("e1"), "d#1"), instead(fact("e2"), "d#1")), at(10, "", about(fact("e1"), "d#1"))},
			"8 commit e1 hypothesis\n9 supersede e2 hypothesis e1\n10 deprecate e2 deprecated", ""},
		{"and is not shown any more", []Context{at(8, "", fact("e1"), instead(fact("e2"), "e1")), omit(at(9, "", fact("e1")), "e2")}, "8 commit e2 hypothesis\n9 evict e2 hypothesis", ""},
		{"and is taken back", []Context{at(8, "", fact("e1"), instead(fact("e2"), "e1")), at(9, "", fact("e1")), at(10, "", fact("e1"))}, "8 commit e2 hypothesis\n9 deprecate e2 deprecated\n10 commit e1 hypothesis", "e1"},
		{"one that was there says so now", []Context{at(8, "", word("a"), word("b")), at(9, "", instead(word("a"), "b"), word("b"))}, "8 commit a active\n8 commit b active\n9 supersede a active b", "a"},
		{"three in a row", []Context{at(8, "", fact("e1"), instead(fact("e2"), "e1"), instead(fact("e3"), "e2"))}, "8 commit e3 hypothesis", "e3"},
		{"two against each other", []Context{at(8, "", instead(fact("e1"), "e2"), instead(fact("e2"), "e1"))}, "8 commit e2 hypothesis", "e2"},
		{"one replaces two", []Context{at(8, "", about(word("a"), "s"), word("b")), at(9, "", instead(about(word("c"), "s"), "b"))}, "8 commit a active\n8 commit b active\n9 supersede c active a\n9 supersede c active b", "c"},
		{"replaced by what has no room", []Context{at(8, "", word("a")), at(9, "", instead(with(word("b"), func(x *Item) { x.Tokens = 2000 }), "a"))}, "8 commit a active\n9 supersede a superseded", ""},
		{"a newer read, by the pack's account", []Context{at(8, "", word("r1")), at(9, "", with(word("r1"), func(x *Item) { x.SupersededBy = "r2" }), word("r2")), at(10, "", word("r1"))},
			"8 commit r1 active\n9 supersede r2 active r1\n10 evict r2 active", ""},
		{"and an even newer one", []Context{at(8, "", word("r1")), at(9, "", with(word("r1"), func(x *Item) { x.SupersededBy = "r2" }), with(word("r2"), func(x *Item) { x.SupersededBy = "r3" }), word("r3"))},
			"8 commit r1 active\n9 supersede r1 superseded\n9 commit r3 active", "r3"},
		{"cited, then survives", []Context{at(8, "", fact("f"), fact("g")), at(9, "", with(fact("f"), func(x *Item) { x.Cited = true }), fact("g")), at(10, "", fact("f"), fact("g"))},
			"8 commit f hypothesis\n8 commit g hypothesis\n9 commit f validated\n9 commit g active", "f g"},
		{"the present pack is no trial", []Context{at(8, "", fact("g")), at(9, "", fact("g"))}, "8 commit g hypothesis", "g"},
		{"written down", []Context{at(8, "", with(fact("f"), func(x *Item) { x.Authored = true }))}, "8 commit f validated", "f"},
		{"over the budget: the lowest scores go", []Context{at(8, "", with(word("a"), func(x *Item) { x.Tokens, x.Score = 600, .1 }), with(word("b"), func(x *Item) { x.Tokens, x.Score = 600, .9 }), with(word("c"), func(x *Item) { x.Tokens, x.Score = 100, .2 }))},
			"8 commit b active\n8 commit c active", "b c"},
		{"an id twice", []Context{at(8, "", word("a"), word("a"))}, "8 commit a active", "a"},
	} {
		last := len(c.contexts) - 1
		entries, lines := History(c.contexts[:last], c.contexts[last])
		var ids []string
		for _, e := range entries {
			ids = append(ids, e.ID)
		}
		if got := told(lines); got != c.want || strings.Join(ids, " ") != c.force {
			t.Errorf("%s: in force %q, lines\n%s\nnot %q,\n%s", c.name, ids, got, c.force, c.want)
		}
		valid(t, c.name, Make(Manifest{CreatedAt: c.contexts[last].CreatedAt, UnitSource: Inline}, 1000, entries, lines))
	}
}

func valid(t testing.TB, name string, b *Bundle) {
	t.Helper()
	if found := Validate(Render(b)); len(found) > 0 {
		t.Fatalf("%s: %v\n%s\n%s", name, Problems(found), Render(b)[SnapshotFile], Render(b)[LifecycleFile])
	}
}

func TestReason(t *testing.T) {
	first := at(8, "unmount the dead mount", Item{ID: "a", Content: "unmount lazily", Log: true}, Item{ID: "p", Content: "quite other words", Log: true, Relevance: 0.75})
	second := at(9, "dead mount changelog", Item{ID: "b", Content: "unmount lazily please now", Log: true}, Item{ID: "none", Log: true})
	_, lines := History([]Context{first}, second)
	for i, want := range []struct {
		id                        string
		relevance, novelty, drift float64
	}{
		{"a", 1. / 3, 1, 0},   // unmount of unmount, dead, mount
		{"p", 0.75, 1, 0},     // the pack's own
		{"a", 0, 1, 1 - 2./4}, // left: dead, mount of unmount, dead, mount, changelog
		{"p", 0, 1, 1 - 2./4}, // the pack's own was of its own context
		{"b", 0, 1 - 2./4, 0}, // unmount, lazily of unmount, lazily, please, now
		{"none", 0, 0, 0},     // no terms
	} {
		l := lines[i]
		for _, c := range []struct {
			name string
			got  Number
			want float64
		}{{"relevance", l.Reason.Relevance, want.relevance}, {"novelty", l.Reason.Novelty, want.novelty}, {"drift", l.Reason.Drift, want.drift}} {
			if l.EntryID != want.id || math.Abs(c.got.Float()-c.want) > 1e-4 {
				t.Errorf("line %d, %s: %s of %s is %s, not %v", i, want.id, c.name, l.EntryID, c.got, c.want)
			}
		}
	}
}

// random makes contexts of a seed, with all that may happen in them.
func random(r *rand.Rand, n int) []Context {
	words := strings.Fields("mount unmount lazily crash changelog test disk full socket agent budget pack read write fsync daemon")
	text := func() string {
		var out []string
		for range r.IntN(6) {
			out = append(out, words[r.IntN(len(words))])
		}
		return strings.Join(out, " ")
	}
	var out []Context
	for h := range n {
		c := at(h%24, text())
		c.Budget = r.IntN(200)
		for range r.IntN(12) {
			k := r.IntN(15)
			x := Item{ID: fmt.Sprint("e", k), Slot: Slots()[k%5], Content: text() + " x", Tokens: r.IntN(40), Score: r.Float64(), Relevance: float64(r.IntN(3)) / 2,
				Subject: []string{"", "s1", "s2", fmt.Sprint("s", k)}[r.IntN(4)], Log: k%2 == 0, Authored: r.IntN(8) == 0, Inferred: r.IntN(2) == 0, Cited: r.IntN(8) == 0, Withdrawn: r.IntN(12) == 0}
			if r.IntN(5) == 0 {
				x.Supersedes = []string{fmt.Sprint("e", r.IntN(15)), fmt.Sprint("s", r.IntN(15))}[r.IntN(2)]
			}
			if r.IntN(9) == 0 {
				x.SupersededBy = fmt.Sprint("e", r.IntN(15))
			}
			c.Items = append(c.Items, x)
		}
		for range r.IntN(8) {
			c.Omitted = append(c.Omitted, fmt.Sprint("e", r.IntN(15)))
		}
		out = append(out, c)
	}
	return out
}

// Whatever happened: the export is valid, its signals are shares, it is the same each time and after JSON, a longer
// history begins with the lines of the shorter one, and nothing in force is out by its status.
func TestHistoryHolds(t *testing.T) {
	for seed := range uint64(150) {
		contexts := random(rand.New(rand.NewPCG(seed, 1)), 2+int(seed%12))
		last := len(contexts) - 1
		entries, lines := History(contexts[:last], contexts[last])
		name := fmt.Sprint("seed ", seed)
		b := Make(Manifest{CreatedAt: "2026-06-21T08:30:00Z", UnitSource: Inline}, contexts[last].Budget, entries, lines)
		valid(t, name, b)
		if contexts[last].Budget > 0 && b.Snapshot.BudgetTokens != contexts[last].Budget {
			t.Errorf("%s: over the budget", name)
		}
		if len(Entering(b)) != len(entries) {
			t.Errorf("%s: of %d entries %d are in force", name, len(entries), len(Entering(b)))
		}
		var again []Context
		if data, err := json.Marshal(contexts); err != nil || json.Unmarshal(data, &again) != nil {
			t.Fatal(err)
		}
		if e, l := History(again[:last], again[last]); !reflect.DeepEqual(e, entries) || !reflect.DeepEqual(l, lines) {
			t.Errorf("%s: another history the second time", name)
		}
		l := newLedger()
		for i := range contexts[:last] {
			l.step(&contexts[i], true)
		}
		if n := len(l.lines); n > len(lines) || n > 0 && !reflect.DeepEqual(l.lines, lines[:n]) {
			t.Errorf("%s: lines about declared contexts changed", name)
		}
	}
}

func BenchmarkHistory(b *testing.B) {
	var contexts []Context
	r := rand.New(rand.NewPCG(1, 1))
	for h := range 100 {
		c := at(h%24, fmt.Sprint("query about topic", h/10))
		for i := range 300 {
			k := h*30 + i // a tenth of the items is new each time
			var text strings.Builder
			for range 150 {
				fmt.Fprintf(&text, "word%d ", int(math.Abs(r.NormFloat64()*400)))
			}
			c.Items = append(c.Items, Item{ID: fmt.Sprint(k), Content: text.String(), Tokens: 1, Log: true})
		}
		contexts = append(contexts, c)
	}
	b.ResetTimer()
	for b.Loop() {
		History(contexts[:99], contexts[99])
	}
}
