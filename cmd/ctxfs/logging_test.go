package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestWhereLogsGo(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	stream := func(f *os.File) string {
		st, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		s := st.Sys().(*syscall.Stat_t)
		return fmt.Sprintf("%d:%d", s.Dev, s.Ino)
	}
	for _, c := range []struct {
		f             *os.File
		stream        string
		journal, file bool
	}{
		{w, stream(w), true, false},
		{w, stream(f), false, false}, // it was led elsewhere
		{w, "", false, false},
		{f, stream(w), false, true},
	} {
		if journal, file := whereTo(c.f, c.stream); journal != c.journal || file != c.file {
			t.Errorf("%s, %q: %v, %v", c.f.Name(), c.stream, journal, file)
		}
	}
}
