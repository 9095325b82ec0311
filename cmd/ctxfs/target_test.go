package main

import (
	"io"
	"strings"
	"testing"

	"ctxfs/internal/importer"
	"ctxfs/internal/intake"
	"ctxfs/internal/session"
)

// TestFailedImport takes a session away whose import failed, in a store that is not mounted too; its name is free then.
func TestFailedImport(t *testing.T) {
	store, err := session.Open(t.TempDir(), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	to := &storeTarget{store: store}
	defer to.close()
	log := strings.Repeat(`{"role":"user","content":"`+strings.Repeat("x", 1<<20)+`"}`+"\n", 3)
	for range 2 {
		results, err := intake.File{Log: &breaks{strings.NewReader(log), 2 << 20}, Format: importer.Messages, Store: to, Agent: "a",
			Name: func(string, int) string { return "s" }}.Import()
		if err == nil || len(results) != 1 || !results[0].Made {
			t.Fatalf("%+v, %v", results, err)
		}
		if err := takeAway(to, "a", "s"); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := store.Count(); n != 0 || err != nil {
		t.Errorf("%d sessions; %v", n, err)
	}
}

// breaks is a log that cannot be read from some byte on.
type breaks struct {
	io.ReadSeeker
	left int
}

func (b *breaks) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.ReadSeeker.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
