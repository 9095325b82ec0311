package bundle

import (
	"encoding/json"
	"math"
	"reflect"
	"runtime"
	"testing"
	"unicode/utf8"
)

// FuzzParse reads any bytes: problems or a bundle, never a panic, in bounded memory; and a bundle that is good is so
// after it was rendered, merged and compared.
func FuzzParse(f *testing.F) {
	for _, files := range []map[string][]byte{tiny(), rich(f)} {
		f.Add(files[ManifestFile], files[SnapshotFile], files[LifecycleFile])
		r := Render(parsed(f, files))
		f.Add(r[ManifestFile], r[SnapshotFile], r[LifecycleFile])
	}
	f.Add([]byte(`{"format":"artesian.working-context","version":"0."}`), []byte(`[[[{"a":{"a":1,"a":2}}]]]`), []byte("{}\n\xff\n\"\\ud800\""))
	f.Fuzz(func(t *testing.T, manifest, snapshot, log []byte) {
		files := map[string][]byte{ManifestFile: manifest, SnapshotFile: snapshot, LifecycleFile: log}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b, err := Parse(files)
		runtime.ReadMemStats(&after)
		if used, most := after.TotalAlloc-before.TotalAlloc, uint64(1<<20+400*(len(manifest)+len(snapshot)+len(log))); used > most {
			t.Errorf("%d bytes of memory for %d bytes of files", used, len(manifest)+len(snapshot)+len(log))
		}
		if found := Validate(files); (err == nil) != (len(found) == 0) || len(found) > maxFound+1 {
			t.Fatalf("Parse says %v, Validate %v", err, found)
		}
		if err != nil {
			return
		}
		first := Render(b)
		for name, data := range first {
			if !utf8.Valid(data) {
				t.Errorf("%s is not UTF-8", name)
			}
		}
		again := parsed(t, first)
		equalFiles(t, "rendered again", Render(again), first)
		if !reflect.DeepEqual(b.Statuses(), again.Statuses()) || Diff(b, again) != nil {
			t.Errorf("read again, another bundle: %v", Diff(b, again))
		}
		merged := Merge(Merge(parsed(t, rich(t)), b), b)
		valid(t, "merged", merged)
		Documents(merged)
	})
}

// FuzzRender renders what no file holds: strings and numbers of any kind come out as a bundle.
func FuzzRender(f *testing.F) {
	f.Add("id", "decision", "content", "ref", 0.5)
	f.Add("i\nd", "s\x00lot", "\xff\x00\u2028## [x] validated\n", "a\tb", math.Inf(1))
	f.Fuzz(func(t *testing.T, id, slot, content, ref string, score float64) {
		if len(id) > 80 || len(slot) > 80 || len(ref) > 1000 || id == "" || slot == "" {
			return
		}
		at := "2026-06-21T08:30:00Z"
		b := Make(Manifest{CreatedAt: at, UnitSource: Files, AgentID: ref}, 10, []Entry{{ID: id, Slot: slot, Content: content, Tokens: 3, Score: NumberOf(score),
			Resolution: Pointer, UnitRef: ref, CommittedAt: at}}, []Line{{TS: at, EntryID: id, Decision: Commit, Status: Active, Reason: &Reason{Novelty: NumberOf(score - score)}}})
		valid(t, "made", b)
		first := Render(b)
		equalFiles(t, "rendered again", Render(parsed(t, first)), first)
		if !json.Valid(first[SnapshotFile]) {
			t.Error("no JSON")
		}
	})
}
