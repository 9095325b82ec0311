package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestArguments: an argument that cannot be is a result with isError, which says what can be.
func TestArguments(t *testing.T) {
	s := tree(t)
	if err := os.WriteFile(filepath.Join(point(t, s), "home/1000/agent/coder/session/index/list"), []byte("fix-42\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	session := filepath.Join(point(t, s), "home/1000/agent/coder/session/fix-42")
	for name, text := range map[string]string{"messages.jsonl": `{"n":1}` + "\n", "updated_at": "2026-03-14T09:00:00Z\n"} {
		if err := os.WriteFile(filepath.Join(session, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := client(t, s)
	for _, x := range []struct{ tool, arguments, says string }{
		{"pack", `{"session":"coder","budget":5}`, "budget is 5: a pack has from 100 to 100000000 tokens"},
		{"pack", `{"session":"coder","budget":-1}`, "budget is -1"},
		{"pack", `{"session":"coder","budget":100000001}`, "budget is 100000001"},
		{"pack", `{"session":"coder","target":"boss"}`, `target is "boss": it is one of model, tool, reviewer, user`},
		{"pack", `{"session":"coder","at":-2}`, "at is -2: records are numbered from 1"},
		{"pack", `{"session":"coder","at":7}`, "at is 7"},
		{"pack", `{"session":"coder/none"}`, `"coder/none": no such session: a session is AGENT/SESSION, AGENT for its current one, or a path in the mount; there are coder/fix-42`},
		{"pack", `{"session":"nobody"}`, "there are coder/fix-42"},
		{"recall", `{"session":"coder","question":" "}`, "asks for nothing"},
		{"recall", `{"session":"coder","question":"x","max_tokens":5}`, "max_tokens is 5: it is from 100 to 100000; without it, 4000"},
		{"open", `{"session":"coder","ref":"messages:1","max_tokens":-1}`, "max_tokens is -1"},
		{"open", `{"session":"coder","ref":"chapter 1"}`, "a reference is messages:12, messages:12-18 or messages:12.2"},
		{"history", `{"session":"coder","limit":-1}`, "limit is -1: it is from 1 to 1000; without it, 20"},
		{"history", `{"session":"coder","limit":5000}`, "limit is 5000"},
		{"history", `{"session":"coder","from":-1}`, "the first record is 1"},
		{"history", `{"session":"coder","max_tokens":100001}`, "max_tokens is 100001"},
		{"sessions", `{"limit":-1}`, "limit is -1: it is from 1 to 100"},
		{"sessions", `{"agent":"nobody"}`, "there are coder/fix-42"},
		{"pack", `{"session":"coder","budget":"many"}`, "budget"},
		{"pack", `{}`, "session"},
	} {
		if said, refused := call(t, c, x.tool, x.arguments); !refused || !strings.Contains(said, x.says) {
			t.Errorf("%s %s: %t, %s\nwant %s", x.tool, x.arguments, refused, said, x.says)
		}
	}
}

// TestParts: a long text comes in parts, which joined are the text, each within its limit and cut between characters.
func TestParts(t *testing.T) {
	s := tree(t)
	text := strings.Repeat("Dämmerung über 東京 — ", 2000)
	file := filepath.Join(point(t, s), "home/1000/agent/coder/session/fix-42/context/swap/open/messages:1")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tok, err := s.tok()
	if err != nil {
		t.Fatal(err)
	}
	var joined strings.Builder
	parts := 0
	for joined.Len() < len(text) {
		r, _, err := s.openTool(t.Context(), nil, openArgs{Session: "coder", Ref: "messages:1", Offset: joined.Len()})
		if err != nil {
			t.Fatal(err)
		}
		part, note := contentText(t, r, 0), contentText(t, r, 1)
		from := joined.Len()
		joined.WriteString(part)
		want := fmt.Sprintf("bytes %d to %d of %d", from, joined.Len(), len(text))
		if joined.Len() < len(text) {
			want += fmt.Sprintf("; go on with offset %d", joined.Len())
		}
		if n := tok.Count(part); n > defaultTokens || n == 0 || note != want {
			t.Fatalf("%d tokens, %q, want %q", n, note, want)
		}
		parts++
	}
	if joined.String() != text || parts < 3 {
		t.Errorf("%d parts of %d bytes", parts, joined.Len())
	}
	for _, offset := range []int{-1, 2, len(text) + 1} { // 2 is within ä
		if _, _, err := s.openTool(t.Context(), nil, openArgs{Session: "coder", Ref: "messages:1", Offset: offset}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("offset is %d", offset)) {
			t.Errorf("offset %d: %v", offset, err)
		}
	}
}

// TestHistoryFits: history has whole records within its limit, and says how to get the others.
func TestHistoryFits(t *testing.T) {
	s := tree(t)
	line := func(n, words int) string {
		return fmt.Sprintf(`{"n":%d,"content":%q}`+"\n", n, strings.Repeat("word ", words))
	}
	log := ""
	for i := range 9 {
		log += line(i+1, 900)
	}
	log += line(10, 9000)
	if err := os.WriteFile(filepath.Join(point(t, s), "home/1000/agent/coder/session/fix-42/messages.jsonl"), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	c := client(t, s)
	for _, x := range []struct {
		arguments string
		first, n  int
		note      string
	}{
		{`{"session":"coder"}`, 0, 0, "record 10 of 10 alone has 90"},
		{`{"session":"coder"}`, 0, 0, "read it in parts by the tool open, with ref messages:10, or ask with a larger max_tokens"},
		{`{"session":"coder","max_tokens":11000}`, 8, 3, "records 8 to 10 of 10; earlier ones with from"},
		{`{"session":"coder","from":2}`, 2, 4, "records 2 to 5 of 10; go on with from 6"},
		{`{"session":"coder","from":10}`, 0, 0, "record 10 of 10 alone"},
		{`{"session":"coder","from":9,"limit":1}`, 9, 1, "records 9 to 9 of 10; go on with from 10"},
	} {
		said, refused := call(t, c, "history", x.arguments)
		lines := strings.Split(said, "\n")
		if refused || !strings.Contains(lines[len(lines)-1], x.note) || strings.Count(said, `{"n":`) != x.n || x.n > 0 && !strings.HasPrefix(said, fmt.Sprintf(`{"n":%d,`, x.first)) {
			t.Errorf("%s: %.40s … %s", x.arguments, said, lines[len(lines)-1])
		}
	}
}

// TestNoMount: without a mount everything that lists is empty, and everything else says what to do; nothing of a plain folder is
// served or changed.
func TestNoMount(t *testing.T) {
	s := tree(t)
	top := point(t, s)
	var why error = errors.New("no ctxfs is mounted (mount one with: ctxfs mount /ctx)")
	s.root.mount = func() (string, error) { return top, why }
	c := client(t, s)
	for tool, arguments := range map[string]string{"sessions": `{}`, "pack": `{"session":"coder"}`, "recall": `{"session":"coder/fix-42","question":"x"}`, "open": `{"session":"coder","ref":"messages:1"}`,
		"history": `{"session":"coder"}`, "append": `{"session":"coder/new","create":true,"records":[{"a":1}]}`} {
		if said, refused := call(t, c, tool, arguments); !refused || said != why.Error() {
			t.Errorf("%s: %t, %s", tool, refused, said)
		}
	}
	if list, err := c.ListResources(t.Context(), nil); err != nil || len(list.Resources) != 1 {
		t.Errorf("resources: %v, %v", list, err)
	}
	why = nil
	s.root.fs = 0x65735546 // of FUSE, which the folder is not
	if said, refused := call(t, c, "append", `{"session":"coder/new","create":true,"records":[{"a":1}]}`); !refused || !strings.Contains(said, "ctxfs mount") {
		t.Errorf("a plain folder: %t, %s", refused, said)
	}
	if _, err := os.Stat(filepath.Join(top, "home/1000/agent/coder/session/new")); err == nil {
		t.Error("a session was made in a plain folder")
	}
	s.root.fs = 0
	if said, refused := call(t, c, "sessions", `{}`); refused {
		t.Errorf("with a mount: %s", said)
	}
}

// TestCacheScope: what a user may see is nobody else's to keep.
func TestCacheScope(t *testing.T) {
	s := tree(t)
	for _, private := range []func() (any, error){
		func() (any, error) { return newest(t, s).ReadResource(t.Context(), readParams(sessionsURI)) },
		func() (any, error) { return newest(t, s).ListResources(t.Context(), nil) },
	} {
		r, err := private()
		data, merr := json.Marshal(r)
		if err != nil || merr != nil || !strings.Contains(string(data), `"cacheScope":"private"`) {
			t.Errorf("%s, %v, %v", data, err, merr)
		}
	}
}
