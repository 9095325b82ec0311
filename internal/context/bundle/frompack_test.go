package bundle

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"ctxfs/internal/context/pack"
	"ctxfs/internal/context/token"
	"ctxfs/internal/quality/corpus"
	"ctxfs/internal/record"
	"ctxfs/schema/schematest"
)

var tokenizer = sync.OnceValues(func() (*token.Encoding, error) { return token.New("o200k_base") })

func fold(t testing.TB, w *pack.Workset, h *record.Memory, from, to int) {
	t.Helper()
	for n := from; n <= to; n++ {
		raw, _ := h.Raw(n)
		if r, err := h.Record(n); err != nil {
			w.AddBad(n, raw, err.Error())
		} else {
			w.Add(r, raw)
		}
	}
}

// shownAt builds packs of a log at several of its lengths, and gives them as contexts.
func shownAt(t testing.TB, log []byte, times, budget int, change func(i int, in *pack.Input)) []Context {
	t.Helper()
	enc, err := tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	h, w := record.NewMemory(log), pack.NewWorkset(enc)
	var out []Context
	for i, n := 1, 0; i <= times; i++ {
		to := h.Len() * i / times
		fold(t, w, h, n+1, to)
		n = to
		in := pack.Input{Session: "s", Agent: "coder", Budget: budget, History: h}
		change(i, &in)
		p, err := w.Build(in)
		if err != nil {
			t.Fatal(err)
		}
		c := From(p, in, fmt.Sprintf("2026-03-14T%02d:00:00Z", i), enc.Count)
		tokens := 0
		for _, x := range c.Items {
			tokens += x.Tokens
			if x.Content != "" && !bytes.Contains(p.Markdown, []byte(strings.TrimSuffix(x.Content, "\n"))) && !strings.HasPrefix(x.UnitRef, "context/swap/") {
				if !strings.Contains(x.Subject, ".jsonl#") { // whose text is JSON in the pack
					t.Errorf("%s is not what the pack shows: %.100q", x.Subject, x.Content)
				}
			}
		}
		if tokens > budget+len(c.Items)*2 {
			t.Errorf("%d tokens of entries in a pack of %d", tokens, budget)
		}
		out = append(out, c)
	}
	return out
}

// exported makes the bundle of contexts, and checks it.
func exported(t testing.TB, name string, contexts []Context) *Bundle {
	t.Helper()
	last := len(contexts) - 1
	entries, lines := History(contexts[:last], contexts[last])
	b := Make(Manifest{CreatedAt: contexts[last].CreatedAt, UnitSource: Files}, contexts[last].Budget, entries, lines)
	valid(t, name, b)
	files, schemas := Render(b), schematest.New(t)
	for file, schema := range map[string]string{ManifestFile: "bundle-manifest", SnapshotFile: "bundle-snapshot", LifecycleFile: "bundle-lifecycle"} {
		if schemas.Holds(t, schema+".schema.json", files[file]) == 0 && (file != LifecycleFile || len(lines) > 0) {
			t.Errorf("%s: nothing in %s", name, file)
		}
	}
	return b
}

// A session in which an agent writes decisions of its own, changes them, and takes a pinned file away.
func TestFromPack(t *testing.T) {
	log, err := os.ReadFile("../pack/testdata/session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	contexts := shownAt(t, log, 4, 2000, func(i int, in *pack.Input) {
		in.Pinned = []pack.File{{Path: "context/pinned/rules.md", Data: []byte("Answer in short sentences.\n")}}
		switch i {
		case 2:
			in.Authored.Todo = []byte("- write the test\n")
			in.Authored.Decisions = []byte(`{"id":"d1","decision":"Use a lazy unmount.","source":"messages:8"}` + "\n")
		case 3:
			in.Authored.Todo = []byte("- write the changelog\n")
			in.Authored.Decisions = []byte(`{"id":"d1","decision":"Use a lazy unmount.","source":"messages:8"}` + "\n" + `{"id":"d2","decision":"Unmount by force.","supersedes":"d1"}` + "\n")
			in.Pinned = nil
		case 4:
			in.Authored.Decisions = []byte(`{"id":"d2","decision":"Unmount by force.","status":"withdrawn"}` + "\n")
		}
	})
	golden(t, "session", Render(exported(t, "session", contexts)))
}

// Real sessions, shown at ten of their lengths: valid bundles, whose lifecycles have all of what can happen to a log.
func TestRealSessions(t *testing.T) {
	dir := corpus.Dir()
	if dir == "" {
		t.Skip("SKIP: ../shared/data is not here: no bundle of a real session is checked")
	}
	logs, err := corpus.Coding(dir)
	if err != nil || len(logs) == 0 {
		t.Fatalf("%d logs were imported: %v", len(logs), err)
	}
	if testing.Short() {
		logs = logs[:min(len(logs), 3)]
	}
	count := map[string]int{}
	for i := 0; i < len(logs); i += 4 {
		for _, budget := range []int{1000, 8000} {
			b := exported(t, logs[i].Name, shownAt(t, logs[i].Log, 10, budget, func(int, *pack.Input) {}))
			for _, l := range b.Lifecycle {
				count[l.Decision+" "+l.Status]++
			}
			if again := Merge(parsed(t, Render(b)), b); !sameFiles(again, b) {
				t.Errorf("%s: importing its own export changes it", logs[i].Name)
			}
		}
	}
	t.Log(count)
	for _, what := range []string{"commit active", "commit hypothesis", "evict active", "supersede active", "supersede hypothesis"} {
		if count[what] == 0 && !testing.Short() { // a few sessions need not show all
			t.Errorf("no %s in any session: %v", what, count)
		}
	}
}
