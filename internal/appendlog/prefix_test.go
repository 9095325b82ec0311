package appendlog

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
)

type memPrefix struct{ *bytes.Reader }

func (memPrefix) Close() error { return nil }

// A log whose beginning stands elsewhere reads, grows and recovers as one whole.
func TestLogAfterAPrefix(t *testing.T) {
	head, tail := "{\"n\":1}\n{\"n\":2}\n", "{\"n\":3}\n"
	name := filepath.Join(t.TempDir(), "tail")
	if err := os.WriteFile(name, []byte(tail+`{"torn`), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	var torn []byte
	l, err := NewAfter(memPrefix{bytes.NewReader([]byte(head))}, f, func(data []byte, _ error) error { torn = data; return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if string(torn) != `{"torn` {
		t.Errorf("set aside: %q", torn)
	}
	if err := l.Commit([]byte("{\"n\":4}\n")); err != nil {
		t.Fatal(err)
	}
	want := head + tail + "{\"n\":4}\n"
	if l.Size() != int64(len(want)) || l.File() != nil {
		t.Errorf("size %d, want %d; file %v", l.Size(), len(want), l.File())
	}
	for from := range want { // every split between prefix and file
		got, err := io.ReadAll(io.NewSectionReader(l, int64(from), int64(len(want)-from)))
		if err != nil || string(got) != want[from:] {
			t.Fatalf("from %d: %q, %v", from, got, err)
		}
		buf := make([]byte, 3)
		n, _ := l.ReadAt(buf, int64(from))
		if string(buf[:n]) != want[from:min(from+3, len(want))] {
			t.Fatalf("3 bytes from %d: %q", from, buf[:n])
		}
	}
}

// A write that fails half way leaves the tail as it was, at its own length.
func TestFailedCommitAfterAPrefix(t *testing.T) {
	name := filepath.Join(t.TempDir(), "tail")
	if err := os.WriteFile(name, []byte("{\"n\":3}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewAfter(memPrefix{bytes.NewReader([]byte("{\"n\":1}\n"))}, f, nil)
	if err != nil {
		t.Fatal(err)
	}
	size := l.Size()
	if err := f.Close(); err != nil { // every later write fails: EBADF
		t.Fatal(err)
	}
	if err := l.Commit([]byte("{\"n\":4}\n")); err == nil || l.Size() != size {
		t.Errorf("%v, size %d, want %d", err, l.Size(), size)
	}
	if data, err := os.ReadFile(name); err != nil || string(data) != "{\"n\":3}\n" {
		t.Errorf("the tail: %q, %v", data, err)
	}
}
