package trace_test

import (
	"bytes"
	"encoding/json"
	"os"
	"sync"
	"testing"

	"ctxfs/internal/context/pack"
	"ctxfs/internal/context/token"
	"ctxfs/internal/context/trace"
	"ctxfs/internal/record"
)

var tokenizer = sync.OnceValues(func() (*token.Encoding, error) { return token.New("o200k_base") })

// fold folds a log.
func fold(t testing.TB, log []byte) (*pack.Workset, *record.Memory) {
	t.Helper()
	enc, err := tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	h, w := record.NewMemory(log), pack.NewWorkset(enc)
	for n := 1; n <= h.Len(); n++ {
		raw, _ := h.Raw(n)
		if r, err := h.Record(n); err != nil {
			w.AddBad(n, raw, err.Error())
		} else {
			w.Add(r, raw)
		}
	}
	return w, h
}

// context makes a pack of a log and what the trace needs beside it.
func context(t testing.TB, log []byte, budget int) trace.In {
	t.Helper()
	w, h := fold(t, log)
	in := pack.Input{Session: "s", Agent: "coder", Budget: budget, History: h}
	p, err := w.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return trace.In{Session: trace.Session{ID: "0123", Name: "s", Agent: "coder", Scope: "private", UID: 1000}, Pack: p, Input: in, Target: "model", File: "context/pack.md",
		Producer: "test", Tokenizer: "o200k_base", Created: "2026-03-14T09:00:00Z"}
}

func records(t testing.TB, in trace.In) map[string][]byte {
	t.Helper()
	tr, err := trace.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, n := range trace.Names() {
		files[n] = tr.File(n)
	}
	return files
}

func check(t testing.TB, files map[string][]byte) {
	t.Helper()
	for _, p := range trace.Check(files, func(string) bool { return true }) {
		t.Errorf("%s: %s", p.File, p.Text)
	}
}

func TestSample(t *testing.T) {
	log, err := os.ReadFile("../pack/testdata/session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, budget := range []int{0, 100, 1000, 8000, 32000} {
		in := context(t, log, budget)
		files := records(t, in)
		check(t, files)
		for n, data := range records(t, in) {
			if !bytes.Equal(data, files[n]) {
				t.Errorf("%s differs when it is made again", n)
			}
		}
		var sel trace.Selection
		if err := json.Unmarshal(files["selection.json"], &sel); err != nil {
			t.Fatal(err)
		}
		if len(sel.Selected) != len(in.Pack.Items) || len(sel.Omitted) != len(in.Pack.Omitted) || len(sel.Candidates) != len(sel.Selected)+len(sel.Omitted) {
			t.Errorf("budget %d: %d of %d selected, %d of %d omitted", budget, len(sel.Selected), len(in.Pack.Items), len(sel.Omitted), len(in.Pack.Omitted))
		}
	}
}
