package bundle

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The specification's tiny example, with the manifest that it describes.
func tiny() map[string][]byte {
	return map[string][]byte{
		ManifestFile: []byte(`{"format":"artesian.working-context","version":"0.1","created_at":"2026-06-21T08:30:00Z","unit_source":"inline"}`),
		SnapshotFile: []byte(`{
  "schema": ["decision", "constraint", "fact", "task-state"],
  "budget_tokens": 4096,
  "token_count": 7,
  "entries": [
    {
      "id": "a", "slot": "decision",
      "content": "ship the working-context bundle first",
      "tokens": 7, "score": 1.0, "resolution": "full",
      "committed_at": "2026-06-21T08:30:00Z"
    }
  ]
}
`),
		LifecycleFile: []byte(`{"ts":"2026-06-21T08:30:00Z","entry_id":"a","decision":"commit","status":"active","reason":{"relevance":0.9,"novelty":0.5,"drift":0.0}}
`),
	}
}

// rich reads testdata/rich, a bundle of another program: all fields, foreign ones at every level, odd spellings.
func rich(t testing.TB) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, name := range []string{ManifestFile, SnapshotFile, LifecycleFile} {
		data, err := os.ReadFile(filepath.Join("testdata", "rich", name))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = data
	}
	return out
}

func parsed(t testing.TB, files map[string][]byte) *Bundle {
	t.Helper()
	b, err := Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func equalFiles(t testing.TB, what string, got, want map[string][]byte) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !bytes.Equal(got[name], want[name]) {
			t.Errorf("%s: %s is\n%s\nnot\n%s", what, name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d files, not %d", what, len(got), len(want))
	}
}

// golden compares files with testdata/dir.
func golden(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, got := range files {
		path := filepath.Join("testdata", dir, name)
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs; run with -update and look at the diff\ngot:\n%s\nwant:\n%s", path, got, want)
		}
	}
}

func TestTinyExample(t *testing.T) {
	b := parsed(t, tiny())
	e := b.Snapshot.Entries[0]
	if e.ID != "a" || e.Tokens != 7 || e.Score.String() != "1.0" || e.Score.Float() != 1 || b.Lifecycle[0].Reason.Drift.String() != "0.0" {
		t.Errorf("read as %+v, %+v", e, b.Lifecycle[0])
	}
}

func TestRoundTrip(t *testing.T) {
	for name, files := range map[string]map[string][]byte{"tiny": tiny(), "rich": rich(t)} {
		first := Render(parsed(t, files))
		equalFiles(t, name, Render(parsed(t, first)), first)
		golden(t, name+"-rendered", first)
	}
}

// Foreign fields and numbers stand in the rendered files with their bytes.
func TestForeignFieldsAreKept(t *testing.T) {
	files := Render(parsed(t, rich(t)))
	for _, c := range []struct{ file, want string }{
		{ManifestFile, `"x-signature": {"alg":"none", "n": 1.50e+3, "big": 123456789012345678901234567890}`},
		{ManifestFile, `"caf\u00e9": "<&>"`},
		{SnapshotFile, `"x-saturation": 0.10`},
		{SnapshotFile, `"score":0.70`},
		{SnapshotFile, `"x-tags":[ "one",  "two" ]`},
		{SnapshotFile, `"x-null":null`},
		{LifecycleFile, `"x-model":"\u006dodel"`},
		{LifecycleFile, `"relevance":9e-1,"novelty":0.50,"drift":0,"x-entropy":1e400`},
	} {
		if !bytes.Contains(files[c.file], []byte(c.want)) {
			t.Errorf("%s has no %s:\n%s", c.file, c.want, files[c.file])
		}
	}
	b := parsed(t, rich(t))
	if got := b.Manifest.Foreign.Names(); !slices.Equal(got, []string{"x-signature", "café"}) {
		t.Errorf("foreign fields of the manifest: %q", got)
	}
	if got := string(b.Manifest.Foreign.Get("café")); got != `"<&>"` {
		t.Errorf("foreign field: %s", got)
	}
}

// Every number that the rules bind is found when it changes.
func TestChangedNumbersAreFound(t *testing.T) {
	files := Render(parsed(t, rich(t)))
	text := string(files[SnapshotFile])
	for at := 0; ; {
		i := strings.Index(text[at:], `tokens":`)
		if i < 0 {
			break
		}
		at += i + len(`tokens":`)
		if strings.HasSuffix(text[:at], `"budget_tokens":`) {
			continue
		}
		end := at + strings.IndexAny(text[at:], ",\n")
		for _, n := range []string{"0", "1", "999", "7.5", "-1", "1e3", `"7"`, "null", "99999999999999999999", "true"} {
			if n == strings.TrimSpace(text[at:end]) {
				continue
			}
			changed := maps.Clone(files)
			changed[SnapshotFile] = []byte(text[:at] + n + text[end:])
			if len(Validate(changed)) == 0 {
				t.Errorf("not found: %q -> %s at byte %d", text[at:end], n, at)
			}
		}
	}
	for n := range 60 {
		changed := maps.Clone(files)
		for _, name := range []string{"token_count", "budget_tokens"} {
			b := parsed(t, files)
			old := map[string]int{"token_count": b.Snapshot.TokenCount, "budget_tokens": b.Snapshot.BudgetTokens}[name]
			changed[SnapshotFile] = []byte(strings.Replace(text, fmt.Sprintf("%q: %d", name, old), fmt.Sprintf("%q: %d", name, n), 1))
			good := name == "token_count" && n == old || name == "budget_tokens" && n >= b.Snapshot.TokenCount
			if found := Validate(changed); (len(found) == 0) != good {
				t.Errorf("%s %d: %v", name, n, found)
			}
		}
	}
}
