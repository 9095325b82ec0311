package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFindName holds the names by which a session is found, and what is said of those that lead to none or to several.
func TestFindName(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"agent/coder/session/fix-42", "agent/coder/session/codex", "agent/codex/session/codex", "agent/codex/session/last", "agent/codex/session/index",
		"model/gpt.d/session/chat", "model/coder.d/session/fix-42", "model/coder.d/session/own", "agent/empty/session/index"} {
		if err := os.MkdirAll(filepath.Join(root, ownHome(), dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, ownHome(), "agent/codex/session/index/current"), []byte("last\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"coder/fix-42":   "agent/coder/session/fix-42",
		"coder.d/fix-42": "model/coder.d/session/fix-42",
		"gpt/chat":       "model/gpt.d/session/chat",
		"gpt.d/chat":     "model/gpt.d/session/chat",
		"chat":           "model/gpt.d/session/chat",
		"own":            "model/coder.d/session/own",
		"last":           "agent/codex/session/last",
		"fix-42":         "exit 2: fix-42 can be several sessions: name one as coder/fix-42 or coder.d/fix-42",
		"codex":          "exit 2: codex can be several sessions: name one as coder/codex or codex/codex or codex/last",
		"coder/fix-4":    "exit 12: there is no session coder/fix-4 (there are coder/fix-42, coder/codex)",
		"coder/own":      "exit 12: there is no session coder/own (there are coder/codex, coder/fix-42)",
		"code/fix-42":    "exit 12: there is no agent code (there are coder, codex, coder.d, empty, gpt.d)",
		"gtp.d/chat":     "exit 12: there is no agent gtp.d (there are gpt.d, coder.d)",
		"codex/index":    "exit 12: there is no session codex/index (there are codex/codex, codex/last)",
		"coder/..":       "exit 12: there is no session coder",
		"../coder":       "exit 12: there is no agent ..",
		"index":          "exit 12: there is no session index",
		"cht":            "exit 12: there is no session cht (there are gpt.d/chat, ",
		"empty":          "exit 12: there is no session empty (there are ",
		"empty/x":        "exit 12: there is no session empty/x (there are none yet; ctxfs import FILE makes one, and mkdir -p ",
	} {
		p, err := findName(place{root: root, owner: ownHome(), folder: permanent}, ref)
		got := p.container() + "/" + p.folder + "/" + p.session
		if err != nil {
			got = fmt.Sprintf("exit %d: %v", codeOf(err), err)
		} else {
			want = ownHome() + "/" + want
		}
		if !strings.HasPrefix(got, want) || err == nil && got != want {
			t.Errorf("%s: %s, want %s", ref, got, want)
		}
	}
}

func TestPlaceOf(t *testing.T) {
	for abs, want := range map[string]place{
		"/ctx/home/7/agent/a/session/s":     {"/ctx", "home/7", "agent", "a", "session", "s"},
		"/ctx/home/7/model/m.d/session/s":   {"/ctx", "home/7", "model", "m", "session", "s"},
		"/a/b/shared/t/agent/a/temp/s":      {"/a/b", "shared/t", "agent", "a", "temp", "s"},
		"/home/7/agent/a/session/s":         {"/", "home/7", "agent", "a", "session", "s"},
		"/ctx/home/7/agent/a/session/index": {}, "/ctx/home/x/agent/a/session/s": {}, "/ctx/home/7/model/m/session/s": {},
		"/ctx/home/7/agent/a/session/s/context": {}, "/ctx/home/7/agent/a/session": {}, "home/7/agent/a/session/s": {}, "": {},
	} {
		p, ok := placeOf(abs)
		if ok != (want != place{}) || ok && (p != want || p.dir() != abs) {
			t.Errorf("%s: %+v, %v, want %+v", abs, p, ok, want)
		}
	}
}

func TestNearest(t *testing.T) {
	for _, c := range []struct{ name, list, want string }{
		{"nope", "", ""},
		{"code", "codex", "there is codex"},
		{"code", "x coder claude-code node", "there are coder, claude-code, node, x"},
		{"fix-42", "coder/other pi/fix-41 coder/fix-42", "there are coder/fix-42, pi/fix-41, coder/other"},
		{"a9", "bbb cc a0 a1 a2 a3 a4 a5 a6 a7 a9x b", "of 12 there are a0, a1, a2, a3, a4, a5, a6, a7, a9x, cc, ..."},
	} {
		if got := thereAre(c.name, strings.Fields(c.list)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"", "ab", 2}, {"kitten", "sitting", 3}, {"ab", "ba", 2}, {"same", "same", 0}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// FuzzPlaceOf: a path that is a session's is the one that its place leads to.
func FuzzPlaceOf(f *testing.F) {
	f.Add("/ctx/home/7/agent/a/session/s")
	f.Add("/a/shared/t/model/m.d.d/temp/s/session/x")
	f.Fuzz(func(t *testing.T, abs string) {
		abs = filepath.Clean("/" + abs)
		if p, ok := placeOf(abs); ok && p.dir() != abs {
			t.Errorf("%q: %+v leads to %q", abs, p, p.dir())
		}
	})
}
