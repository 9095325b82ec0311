package session

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ctxfs/internal/context/pack"
)

// talk fills a session with n turns.
func talk(t testing.TB, x *Session, n int) {
	t.Helper()
	var lines []string
	for i := range n {
		lines = append(lines, asks(fmt.Sprintf("Question %d: why does the parser fail on input %d?", i, i*37)), says(fmt.Sprintf("Answer %d. Because of the comma.", i)))
	}
	add(t, x, Messages, lines...)
}

// TestViewsFollow: a view that is asked for after a change shows it; without a change it is the cached one.
func TestViewsFollow(t *testing.T) {
	x := newSession(t)
	talk(t, x, 5)
	for _, c := range []struct {
		what   string
		change func()
	}{
		{"append", func() { add(t, x, Messages, asks("A new one: append-mark")) }},
		{"budget", func() { must(t, x.WriteControl("context/budget", []byte("5000\n"), me)) }},
		{"pinned", func() { plant(t, x, "context/pinned/a.md", "pinned-mark"); x.Touch() }},
		{"summary", func() { must(t, x.WriteControl("context/summary.md", []byte("summary-mark"), me)) }},
		{"rename", func() { must(t, x.c.Rename("s", "t")) }},
		{"summary again", func() { must(t, x.RemoveControl("context/summary.md")) }},
		{"facts", func() { must(t, x.AppendControl("context/facts.jsonl", []byte("{\"fact\":\"facts-mark\"}\n"), me)) }},
		{"child", func() {
			plant(t, x, "context/child/c1/result.md", "child-mark")
			plant(t, x, "context/child/c1/status", "done\n")
			x.Touch()
		}},
	} {
		what := c.what
		before := look(t, x, "context/pack.json")
		packs := x.store.Stats.Packs.Count()
		for _, name := range []string{"context/pack.json", "context/pack.md", "context/pack.json"} {
			_ = look(t, x, name)
		}
		if n := x.store.Stats.Packs.Count(); n != packs {
			t.Errorf("before %s: %d packs were built without a change", what, n-packs)
		}
		c.change()
		after := look(t, x, "context/pack.json")
		if after == before {
			t.Errorf("%s does not show in pack.json", what)
		}
		x.DropPack()
		if again := look(t, x, "context/pack.json"); again != after {
			t.Errorf("after %s, the cached pack is not what a new one is", what)
		}
		if fresh := freshPack(t, x); fresh != after {
			t.Errorf("after %s, a store that starts now gives another pack", what)
		}
	}
	md := look(t, x, "context/pack.md")
	for _, mark := range []string{"append-mark", "pinned-mark", "facts-mark", "child-mark"} {
		if !strings.Contains(md, mark) {
			t.Errorf("pack.md lacks %s:\n%s", mark, md)
		}
	}
}

// freshPack gives pack.json as a process that starts now builds it.
func freshPack(t testing.TB, x *Session) string {
	t.Helper()
	s := openStore(t, x.store.Path(), Options{ReadOnly: true})
	defer s.Close()
	y, err := container(t, s, x.c.Rel).Session(x.Name())
	must(t, err)
	return look(t, y, "context/pack.json")
}

// TestViewIsFrozen: bytes that were given do not change under a reader.
func TestViewIsFrozen(t *testing.T) {
	x := newSession(t)
	talk(t, x, 3)
	held, err := x.View("context/pack.md")
	must(t, err)
	copied := string(held)
	talk(t, x, 30)
	_ = look(t, x, "context/pack.md")
	if string(held) != copied {
		t.Error("a view that is held changed")
	}
}

// TestViewNames asks for each generated file, and for what is none.
func TestViewNames(t *testing.T) {
	x := newSession(t)
	talk(t, x, 50)
	must(t, x.WriteControl("context/budget", []byte("1500"), me))
	for _, name := range []string{"latest.md", "created_at", "updated_at", "context/pack.md", "context/pack.json", "context/pack@800.md", "context/pack@800.json", "context/recall/parser",
		"context/swap/index.jsonl", "context/swap/open/messages:1", "context/swap/open/messages:1-3"} {
		if look(t, x, name) == "" {
			t.Errorf("%s is empty", name)
		}
	}
	if look(t, x, "latest.md") != "Answer 49. Because of the comma.\n" {
		t.Errorf("latest.md is %q", look(t, x, "latest.md"))
	}
	first, err := os.ReadFile(hostPath(x, Messages))
	must(t, err)
	if got := look(t, x, "context/swap/open/messages:1-3"); !strings.HasPrefix(string(first), got) || strings.Count(got, "\n") != 3 {
		t.Errorf("messages:1-3 is %q", got)
	}
	ids, err := x.SwapIDs()
	must(t, err)
	if len(ids) == 0 {
		t.Error("nothing is swapped out of 100 records at 1,500 tokens")
	}
	for _, id := range ids {
		if look(t, x, "context/swap/chunk/"+id) == "" || look(t, x, "context/swap/open/"+id) == "" {
			t.Errorf("chunk %s is empty", id)
		}
	}
	_, err = x.DedupIDs()
	must(t, err)
	_ = look(t, x, "context/dedup/index.jsonl")
	for _, name := range []string{"", "context/", "context/none", "messages.jsonl", "state", "context/pack", "context/pack@0.md", "context/packs.md", "pack.md",
		"context/swap/open/messages:0", "context/swap/open/messages:101", "context/swap/open/messages:3-1", "context/swap/open/messages:01", "context/swap/chunk/none", "context/dedup/blob/none"} {
		if data, err := x.View(name); kind(err) != NotFound {
			t.Errorf("%q: %q, %v, want NotFound", name, data, err)
		}
	}
}

// TestManyBudgets asks for more packs of one generation than are kept.
func TestManyBudgets(t *testing.T) {
	x := newSession(t)
	talk(t, x, 40)
	for round := range 2 {
		for budget := 300; budget < 300+3*maxViews*50; budget += 50 {
			name := fmt.Sprintf("context/pack@%d.md", budget)
			if n := tokensOf(t, x.store, []byte(look(t, x, name))); n > budget || n == 0 {
				t.Errorf("round %d: %s has %d tokens", round, name, n)
			}
		}
	}
	if len(x.cache) > 2*maxViews+2 {
		t.Errorf("%d views are kept", len(x.cache))
	}
}

// TestBadLines: lines that were damaged past ctxfs hide nothing else, and are accounted for.
func TestBadLines(t *testing.T) {
	for name, bad := range map[string]string{"text": "no object", "empty": "", "two objects": `{"role":"user"}{"role":"user"}`, "not UTF-8": "\xff\xfe",
		"torn": `{"role":"user","content":"abc`, "null": "null"} {
		t.Run(name, func(t *testing.T) {
			x := newSession(t)
			plant(t, x, Messages, asks("First words.")+"\n"+bad+"\n"+asks("Last words.")+"\n")
			add(t, x, Messages, says("Understood."))
			md := look(t, x, "context/pack.md")
			for _, want := range []string{"First words.", "Last words.", "Understood."} {
				if !strings.Contains(md, want) {
					t.Errorf("pack.md lacks %q:\n%s", want, md)
				}
			}
			js := look(t, x, "context/pack.json")
			var p pack.Pack
			must(t, json.Unmarshal([]byte(js), &struct {
				Items   *[]pack.Item
				Omitted *[]pack.Omitted
			}{&p.Items, &p.Omitted}))
			if !strings.Contains(js, `"range":"2`) && !strings.Contains(js, `messages:2`) && !strings.Contains(js, `"range": "2`) {
				t.Errorf("record 2 is not accounted for:\n%s", js)
			}
			if got := look(t, x, "context/swap/open/messages:2"); got != bad+"\n" {
				t.Errorf("messages:2 is %q", got)
			}
			if got := look(t, x, "latest.md"); got != "Understood.\n" {
				t.Errorf("latest.md is %q", got)
			}
		})
	}
}

// TestLogTokens: counts that grow with the log are those of the whole.
func TestLogTokens(t *testing.T) {
	x := newSession(t)
	for i, line := range []string{asks("a"), `{"a":"` + strings.Repeat("word ", 3000) + `"} `, "  " + says("indented"), "\t{}", "\r" + asks("é日😀"), `{"end":"\\n"}` + "\r", asks("last")} {
		add(t, x, Messages, line)
		n, err := x.LogTokens(Messages)
		must(t, err)
		data, err := os.ReadFile(hostPath(x, Messages))
		must(t, err)
		if want := tokensOf(t, x.store, data); n != want {
			t.Errorf("after line %d: %d tokens, the whole has %d", i+1, n, want)
		}
	}
	if _, err := x.LogTokens("none"); kind(err) != NotFound {
		t.Errorf("no log: %v", err)
	}
}

// TestChildHeld finds what refers to a child.
func TestChildHeld(t *testing.T) {
	for name, c := range map[string]struct {
		file, data string
		want       bool
	}{
		"nothing":         {"context/pinned/x.md", "child:c1", false},
		"pinned":          {"context/pinned/x.ref", "messages:1\n child:c1 \n", true},
		"another":         {"context/pinned/x.ref", "child:c12\nchild:c\n", false},
		"refs by path":    {"context/refs.jsonl", `{"path":"context/child/c1/result.md"}` + "\n", true},
		"refs by id":      {"context/refs.jsonl", `{"id":"child:c1"}` + "\n", true},
		"refs of another": {"context/refs.jsonl", `{"id":"child:c11","path":"context/child/c10/x"}` + "\n", false},
	} {
		x := newSession(t)
		plant(t, x, c.file, c.data)
		if got, err := x.ChildHeld("c1"); err != nil || got != c.want {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
}

// TestPinnedOdd: editors' leftovers, folders and links are not pinned.
func TestPinnedOdd(t *testing.T) {
	x := newSession(t)
	plant(t, x, "context/pinned/good.md", "good-mark")
	plant(t, x, "context/pinned/.good.md.swp", "swap-mark")
	plant(t, x, "context/pinned/dir/file.md", "deep-mark")
	must(t, os.Symlink("/etc/passwd", filepath.Join(filepath.Dir(hostPath(x, "context/pinned/good.md")), "link")))
	md := look(t, x, "context/pack.md")
	if !strings.Contains(md, "good-mark") || strings.Contains(md, "swap-mark") || strings.Contains(md, "deep-mark") || strings.Contains(md, "root:") {
		t.Errorf("%s", md)
	}
}
