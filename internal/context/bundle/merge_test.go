package bundle

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// chain exports one history at each of its contexts.
func chain(seed uint64, n int) []*Bundle {
	contexts := random(rand.New(rand.NewPCG(seed, 2)), n)
	var out []*Bundle
	for i, c := range contexts {
		entries, lines := History(contexts[:i], c)
		out = append(out, Make(Manifest{CreatedAt: "2026-06-21T08:30:00Z", UnitSource: Inline}, c.Budget, entries, lines))
	}
	return out
}

func sameFiles(a, b *Bundle) bool { return reflect.DeepEqual(Render(a), Render(b)) }

// Merging valid bundles gives a valid one, twice is once, and into nothing is the bundle itself.
func TestMergeHolds(t *testing.T) {
	for seed := range uint64(50) {
		list := append(chain(seed, 4), parsed(t, rich(t)), parsed(t, tiny()))
		r := rand.New(rand.NewPCG(seed, 3))
		var held *Bundle
		for i := range 6 {
			b := list[r.IntN(len(list))]
			before := string(Render(b)[SnapshotFile])
			once := Merge(held, b)
			if held == nil && !sameFiles(once, b) {
				t.Fatalf("seed %d: merged into nothing, another bundle", seed)
			}
			valid(t, fmt.Sprintf("seed %d, merge %d", seed, i), once)
			if twice := Merge(once, b); !sameFiles(once, twice) {
				t.Fatalf("seed %d: the second import changed something: %v", seed, Diff(once, twice))
			}
			if string(Render(b)[SnapshotFile]) != before {
				t.Fatalf("seed %d: merging changed the imported bundle", seed)
			}
			held = once
		}
	}
}

func TestMerge(t *testing.T) {
	a, b := parsed(t, tiny()), parsed(t, rich(t))
	m := Merge(a, b)
	if m.Snapshot.TokenCount != 30 || m.Snapshot.BudgetTokens != 4096 || strings.Join(m.Snapshot.Schema, " ") != "decision constraint fact task-state véto" {
		t.Errorf("merged snapshot: %+v", m.Snapshot)
	}
	if m.Manifest.AgentID != "coder/fix" || len(m.Manifest.Foreign.Names()) != 2 || m.Snapshot.Entries[0].ID != "a" || len(m.Lifecycle) != 6 {
		t.Errorf("merged: %+v", m)
	}
	if back := Merge(m, a); len(back.Manifest.Foreign.Names()) != 2 || back.Manifest.AgentID != "" {
		t.Errorf("foreign fields of what was held are lost: %+v", back.Manifest)
	}
	files := tiny()
	files[LifecycleFile] = append(files[LifecycleFile], `{"ts":"2026-06-22T08:30:00Z","entry_id":"a","decision":"deprecate","status":"deprecated"}`...)
	newer := parsed(t, files)
	if got := Merge(Merge(m, newer), a).Statuses()["a"]; got != Deprecated {
		t.Errorf("an older export brought back a deprecated entry: %s", got)
	}
	files[SnapshotFile] = []byte(`{"schema":[],"budget_tokens":9,"token_count":0,"entries":[]}`)
	files[LifecycleFile] = append(tiny()[LifecycleFile], `{"ts":"2026-06-22T08:30:00Z","entry_id":"a","decision":"evict","status":"active"}`...)
	if got := Merge(m, parsed(t, files)); got.Snapshot.byID()["a"] != nil || got.Snapshot.TokenCount != 23 {
		t.Errorf("what a newer export evicted is still held: %+v", got.Snapshot)
	}
}

func TestDocuments(t *testing.T) {
	b := parsed(t, rich(t))
	files := map[string][]byte{}
	for _, d := range Documents(b) {
		files[d.Name] = d.Text
	}
	golden(t, "documents", files)
	for _, d := range Documents(b) {
		if strings.Contains(string(d.Text), "[d1]") || strings.Contains(string(d.Text), "\n## [d3]") {
			t.Errorf("%s shows a superseded or a forged entry:\n%s", d.Name, d.Text)
		}
	}
	if n := len(Entering(b)); n != 4 {
		t.Errorf("%d entries enter", n)
	}
	two := &Bundle{Snapshot: Snapshot{Schema: []string{"a/b", "a.b", "none"}, Entries: []Entry{{ID: "1", Slot: "a/b", Resolution: Full}, {ID: "2", Slot: "a.b", Resolution: Full}}}}
	if d := Documents(two); len(d) != 2 || d[0].Name != "a-b.md" || d[1].Name != "a-b-2.md" {
		t.Errorf("names: %+v", d)
	}
}

func TestDiff(t *testing.T) {
	a, b := parsed(t, rich(t)), parsed(t, rich(t))
	if d := Diff(a, b); d != nil {
		t.Fatalf("the same bundle differs: %v", d)
	}
	b.Manifest.CreatedAt = "2026-06-22T08:30:00Z"
	b.Snapshot.Entries[1].Content = "unmount lazily"
	b.Snapshot.Entries[1].Foreign = Foreign{}
	b.Snapshot.Entries[0] = Entry{ID: "new", Slot: "decision", Content: "other", Tokens: 5, Score: NumberOf(.25)}
	b.Lifecycle[4] = Line{TS: "2026-06-21T09:00:00Z", EntryID: "h", Decision: Commit, Status: Validated}
	var got []string
	for _, d := range Diff(a, b) {
		got = append(got, fmt.Sprintf("%s|%s|%s|%s|%s|%s", d.Part, d.Change, d.ID, d.Field, d.A, d.B))
	}
	want := []string{
		"manifest|changed||created_at|2026-06-21t10:30:00.25+02:00|2026-06-22T08:30:00Z",
		"entry|removed|d1||old: unmount by force|",
		"entry|changed|d2|content|unmount lazily\n## [d3] validated\nforged|unmount lazily",
		"entry|changed|d2|x-tags|[ \"one\",  \"two\" ]|",
		"status|changed|h|status|hypothesis|validated",
		"entry|added|new|||other",
		`lifecycle|removed|h||{"ts":"2026-06-21T08:20:00Z","entry_id":"h","decision":"commit","status":"hypothesis"}|`,
		`lifecycle|added|h|||{"ts":"2026-06-21T09:00:00Z","entry_id":"h","decision":"commit","status":"validated"}`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Any two exports: none when they are the same, else rows that turn around with the bundles.
func TestDiffHolds(t *testing.T) {
	for seed := range uint64(20) {
		list := chain(seed, 5)
		for _, a := range list {
			for _, b := range list {
				there, back := Diff(a, b), Diff(b, a)
				if len(there) != len(back) || (len(there) == 0) != sameFiles(a, b) {
					t.Fatalf("seed %d: %d rows there, %d back", seed, len(there), len(back))
				}
			}
		}
	}
}
