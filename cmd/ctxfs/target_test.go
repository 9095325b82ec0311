package main

import (
	"errors"
	"io"
	"testing"

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
	in := fileImport{to: to, agent: "a", stem: "s", used: map[string]bool{}}
	for range 2 {
		s, err := in.open("")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Message([]byte(`{"role":"user","content":"hi"}`)), s.Event([]byte(`{"type":"x"}`))); err != nil {
			t.Fatal(err)
		}
		if err := in.sink.note(io.ErrUnexpectedEOF); err != io.ErrUnexpectedEOF {
			t.Fatal(err)
		}
		if err := in.close(); err != nil {
			t.Fatal(err)
		}
		clear(in.used)
	}
	if n, err := store.Count(); n != 0 || err != nil {
		t.Errorf("%d sessions; %v", n, err)
	}
}
