package pack

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden builds packs of a small session that has a bit of everything. What changes in them is for a reader to
// judge: run with -update and look at the diff.
func TestGolden(t *testing.T) {
	log, err := os.ReadFile(filepath.Join("testdata", "session.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	w, h := fold(t, log)
	golden(t, "dedup.jsonl", w.DedupIndex())
	for _, budget := range []int{100, 1000, 2000, 8000} {
		in := Input{Session: "fix-mount", Agent: "coder", Budget: budget, History: h,
			Pinned:   []File{{"context/pinned/keep.ref", []byte("messages:10\nswap:nothing\n")}, {"context/pinned/rules.md", []byte("Answer in short sentences.\n")}},
			Children: []Child{{ID: "review-1", Status: "done", Result: []byte("The unit file is right.\n")}}}
		p := buildIn(t, w, in)
		hold(t, w, in, p)
		golden(t, fmt.Sprintf("pack@%d.md", budget), p.Markdown)
		golden(t, fmt.Sprintf("pack@%d.json", budget), p.JSON)
		index, _, err := w.SwapIndex(in)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, fmt.Sprintf("swap@%d.jsonl", budget), index)
	}
	answer, err := w.Recall(Input{History: h}, "lazy unmount decision", 600)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "recall.md", answer)
}

// golden compares with testdata/name, or writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		at := 0
		for at < len(got) && at < len(want) && got[at] == want[at] {
			at++
		}
		from := bytes.LastIndexByte(got[:at], '\n') + 1
		t.Errorf("%s differs from byte %d on; run with -update and look at the diff\ngot  %.300q\nwant %.300q", path, at, got[from:], want[from:])
	}
}
