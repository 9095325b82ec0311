package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestPackAt builds the pack as it was at each record: it is what a log that ends there gives.
func TestPackAt(t *testing.T) {
	x := newSession(t)
	c := x.c
	talk(t, x, 4)
	lines := strings.SplitAfter(look(t, x, "context/swap/open/messages:1-8"), "\n")
	for n := 1; n <= 8; n++ {
		p, err := x.Pack(PackFile{At: n, Budget: 900})
		must(t, err)
		short := create(t, c, fmt.Sprint("short", n))
		plant(t, short, Messages, strings.Join(lines[:n], ""))
		want := strings.ReplaceAll(look(t, short, "context/pack@900.md"), short.Name(), "s")
		if string(p.Markdown) != want {
			t.Errorf("at %d:\n%s\nwant\n%s", n, p.Markdown, want)
		}
	}
	if _, err := x.Pack(PackFile{At: 9}); kind(err) != NotFound {
		t.Errorf("past the end: %v", err)
	}
	whole, err := x.Pack(PackFile{})
	must(t, err)
	if string(whole.Markdown) != look(t, x, "context/pack.md") || string(whole.JSON) != look(t, x, "context/pack.json") {
		t.Error("a pack with no options is not pack.md")
	}
	asked, err := x.Pack(PackFile{Query: "input 37", Budget: 500})
	must(t, err)
	if asked.Tokens > 500 || tokensOf(t, x.store, asked.Markdown) != asked.Tokens {
		t.Errorf("a query's pack has %d tokens", asked.Tokens)
	}
}

// TestSmallBudgets: whatever the numbers say, a pack is built, and never over what the budget leaves.
func TestSmallBudgets(t *testing.T) {
	x := newSession(t)
	talk(t, x, 20)
	for _, c := range []struct {
		budget string
		limit  int
	}{{"1", 1}, {"7", 7}, {"50", 50}, {"400\nreserve=399", 1}, {"400\nreserve=100", 300}, {"", DefaultBudget}, {"0\nreserve=100", DefaultBudget - 100}} {
		must(t, x.WriteControl("context/budget", []byte(c.budget), me))
		md := look(t, x, "context/pack.md")
		if n := tokensOf(t, x.store, []byte(md)); n > c.limit {
			t.Errorf("%q: %d tokens, at most %d", c.budget, n, c.limit)
		}
		if !json.Valid([]byte(look(t, x, "context/pack.json"))) {
			t.Errorf("%q: pack.json is not JSON", c.budget)
		}
	}
	if err := x.WriteControl("context/budget", fmt.Appendf(nil, "reserve=%d", DefaultBudget), me); kind(err) != Invalid {
		t.Errorf("a reserve that leaves nothing of the default: %v", err)
	}
}

// TestTokenizers: a session's own tokenizer counts its packs.
func TestTokenizers(t *testing.T) {
	x := newSession(t)
	talk(t, x, 60)
	must(t, x.WriteControl("context/budget", []byte("1000\ntokenizer=r50k_base\n"), me))
	js := object(t, look(t, x, "context/pack.json"))
	if !strings.Contains(fmt.Sprint(js["tokenizer"]), "r50k_base") {
		t.Errorf("pack.json names tokenizer %v", js["tokenizer"])
	}
	enc, err := x.store.encoder("r50k_base")
	must(t, err)
	if n := enc.Count(look(t, x, "context/pack.md")); n > 1000 {
		t.Errorf("%d tokens", n)
	}
}

// TestFold reads records by number.
func TestFold(t *testing.T) {
	x := newSession(t)
	talk(t, x, 2)
	_ = look(t, x, "context/pack.md")
	for _, n := range []int{0, -1, 5} {
		if _, err := x.fold.Record(n); kind(err) != NotFound {
			t.Errorf("record %d: %v", n, err)
		}
	}
	if r, err := x.fold.Record(4); err != nil || r.N != 4 || r.Role != "assistant" || x.fold.Len() != 4 {
		t.Errorf("record 4: %+v, %v", r, err)
	}
	if _, err := wholeLines(strings.NewReader("no end"), 0, 6); err == nil {
		t.Error("a log that does not end in a whole line")
	}
	broken := errors.New("broken")
	if _, err := wholeLines(brokenReader{broken}, 0, 6); !errors.Is(err, broken) {
		t.Errorf("a disk that fails: %v", err)
	}
	long := strings.Repeat("x", 9<<20) + "\n"
	if got, err := wholeLines(strings.NewReader("{}\n"+long), 3, int64(len(long))+3); err != nil || string(got) != long {
		t.Errorf("a long line: %d bytes, %v", len(got), err)
	}
}

type brokenReader struct{ err error }

func (b brokenReader) ReadAt([]byte, int64) (int, error) { return 0, b.err }
