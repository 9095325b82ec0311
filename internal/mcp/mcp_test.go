package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFileOf(t *testing.T) {
	for raw, want := range map[string]string{
		"ctxfs:///home/1/agent/coder/session/s/context/pack.md": "home/1/agent/coder/session/s/context/pack.md",
		"ctxfs:///a/recall/why%3F":                              "a/recall/why?",
		"ctxfs:///a/pack?why did it.md":                         "a/pack?why did it.md",
		"ctxfs:///a/pack%40800%23120.md":                        "a/pack@800#120.md",
		uri("a/pack?why 100% #1.md"):                            "a/pack?why 100% #1.md",
		"ctxfs:///../x":                                         "",
		"ctxfs:///a/%2e%2e/b":                                   "",
		"ctxfs:////etc/passwd":                                  "",
		"ctxfs://host/a":                                        "",
		"ctxfs:///":                                             "",
		"file:///a":                                             "",
		"%zz":                                                   "",
		"ctxfs:///a#b":                                          "",
	} {
		if got, err := fileOf(raw); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", raw, got, err)
		}
	}
}

func FuzzFileOf(f *testing.F) {
	f.Add("ctxfs:///a/pack?why did it.md")
	f.Add("ctxfs:///a/%2e%2e/b")
	f.Fuzz(func(t *testing.T, raw string) {
		name, err := fileOf(raw)
		if err != nil {
			return
		}
		if strings.HasPrefix(name, "/") || filepath.Clean(name) != name || strings.HasPrefix(name, "..") {
			t.Fatalf("%q leads to %q", raw, name)
		}
		if again, err := fileOf(uri(name)); err != nil || again != name {
			t.Fatalf("%q becomes %q, %v", name, again, err)
		}
	})
}

// tree lays a mount's folders out as plain ones.
func tree(t *testing.T) *Server {
	t.Helper()
	top := t.TempDir()
	for _, dir := range []string{"home/1000/agent/coder/session/fix-42", "home/1000/agent/coder/session/index", "shared/team/agent/coder/session/s", "home/1000/model/gpt.d/session/m"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(top, "home/1000/agent/coder/session/index/current"), []byte("fix-42\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return New(Options{Mount: func() (string, error) { return top, nil }, UID: 1000, Version: "test"})
}

// point returns the folder that a server of tree serves.
func point(t *testing.T, s *Server) string {
	t.Helper()
	top, err := s.opt.Mount()
	if err != nil {
		t.Fatal(err)
	}
	return top
}

func TestFind(t *testing.T) {
	s := tree(t)
	for name, want := range map[string]string{
		"coder/fix-42":                           "home/1000/agent/coder/session/fix-42",
		"coder":                                  "home/1000/agent/coder/session/fix-42",
		"home/1000/agent/coder/session/fix-42":   "home/1000/agent/coder/session/fix-42",
		"/shared/team/agent/coder/session/s":     "shared/team/agent/coder/session/s",
		"home/1000/model/gpt.d/session/m":        "home/1000/model/gpt.d/session/m",
		"home/1000/agent/coder/session/../../..": "",
		"home/1000/agent/coder/session/index":    "",
		"home/1000/agent/coder":                  "",
		"coder/..":                               "",
		"coder/none":                             "",
		"nobody":                                 "",
		"":                                       "",
		"a/b/c":                                  "",
	} {
		got, err := s.find(name)
		if got != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, errNoSession) {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}

func TestWindow(t *testing.T) {
	var log bytes.Buffer
	for i := range 10 {
		fmt.Fprintf(&log, "{\"n\":%d}\n", i+1)
	}
	log.WriteString(`{"half":`)
	for _, c := range []struct {
		from, limit int
		first, last int
	}{{0, 3, 8, 10}, {0, 100, 1, 10}, {4, 2, 4, 5}, {9, 5, 9, 10}, {11, 5, 0, 0}} {
		w := window{from: c.from, limit: c.limit}
		if err := w.read(bytes.NewReader(log.Bytes())); err != nil {
			t.Fatal(err)
		}
		text := string(w.text())
		if c.first == 0 {
			if text != "" {
				t.Errorf("%v: %q", c, text)
			}
			continue
		}
		if !strings.HasPrefix(text, fmt.Sprintf("{\"n\":%d}\n", c.first)) || !strings.HasSuffix(text, fmt.Sprintf("{\"n\":%d}\n", c.last)) ||
			!strings.HasPrefix(w.note(), fmt.Sprintf("records %d to %d of 10", c.first, c.last)) {
			t.Errorf("%v: %q %q", c, text, w.note())
		}
	}
	big := strings.Repeat("x", maxHistory/2) + "\n"
	w := window{limit: 5}
	if err := w.read(strings.NewReader(big + big + big + "y\n")); err != nil || string(w.text()) != big+"y\n" || w.note() != "records 3 to 4 of 4; earlier ones with from" {
		t.Errorf("%d bytes, %q, %v", len(w.text()), w.note(), err)
	}
	for _, from := range []int{0, 1} { // no more is held than an answer has, and one record always
		w := window{from: from, limit: maxRecords}
		if err := w.read(strings.NewReader(strings.Repeat("y\n"+big, 50))); err != nil || w.bytes > maxHistory || len(w.lines) != 2+from || w.all != 100 {
			t.Errorf("from %d: %d lines, %d bytes of %d records, %v", from, len(w.lines), w.bytes, w.all, err)
		}
		w = window{from: from, limit: 1}
		if err := w.read(strings.NewReader(big + big + big)); err != nil || string(w.text()) != big {
			t.Errorf("from %d: %q, %v", from, w.note(), err)
		}
	}
}

func TestListen(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0"} {
		if l, err := Listen(addr); !errors.Is(err, ErrNotLoopback) {
			t.Errorf("%s: %v, %v", addr, l, err)
		}
	}
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}
