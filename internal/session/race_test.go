package session

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestTogether appends, reads views, writes control files and renames at the same time: nothing fails, each pack is
// whole, and in the end every line is there.
func TestTogether(t *testing.T) {
	x := newSession(t)
	c := x.c
	const writers, each = 4, 30
	var stop atomic.Bool
	var writing, others sync.WaitGroup
	for g := range writers {
		writing.Go(func() {
			for i := range each {
				if err := tryAdd(x, Messages, asks(fmt.Sprintf("line %d of %d.", i, g))); err != nil {
					t.Error(err)
				}
				if err := tryAdd(x, Messages, "bad"); err == nil {
					t.Error("a bad line was taken")
				}
			}
		})
	}
	for what, do := range map[string]func(i int) error{
		"pack":   func(int) error { return whole(x.View("context/pack.json")) },
		"packAt": func(i int) error { _, err := x.View(fmt.Sprintf("context/pack@%d.md", 500+i%40)); return err },
		"views": func(int) error {
			for _, v := range []string{"latest.md", "updated_at", "created_at", "context/swap/index.jsonl", "context/recall/line"} {
				if _, err := x.View(v); err != nil {
					return fmt.Errorf("%s: %w", v, err)
				}
			}
			return nil
		},
		"build":   func(int) error { _, err := x.Pack(PackFile{Budget: 700}); return err },
		"derived": func(int) error { _, err := x.ReadControl("context/summary.md"); return err },
		"state": func(i int) error {
			return x.WriteControl("state", []byte([]string{"active", "idle"}[i%2]), me)
		},
		"meta": func(int) error { return whole(x.ReadControl("meta.json")) },
		"facts": func(i int) error {
			return x.AppendControl("context/facts.jsonl", fmt.Appendf(nil, "{\"n\":%d}\n", i), me)
		},
		"drop": func(int) error { x.DropPack(); return nil },
		"rest": func(int) error { x.rest(); return nil },
		"list": func(int) error {
			_, err := c.List()
			return err
		},
		"tokens": func(int) error { _, err := x.LogTokens(Messages); return err },
		"stat":   func(int) error { _, _, err := x.LogStat(Messages); return err },
		"rename": func(int) error { return c.Rename(x.Name(), "s"+x.Name()[:min(len(x.Name()), 40)]) },
	} {
		others.Go(func() {
			for i := 0; !stop.Load(); i++ {
				if what == "rename" && len(x.Name()) > 30 {
					return
				}
				if err := do(i); err != nil {
					t.Errorf("%s: %v", what, err)
					return
				}
			}
		})
	}
	writing.Wait()
	stop.Store(true)
	others.Wait()
	data, err := os.ReadFile(hostPath(x, Messages))
	must(t, err)
	if n := strings.Count(string(data), "\n"); n != writers*each {
		t.Errorf("%d lines, want %d", n, writers*each)
	}
	for g := range writers {
		last := -1
		for i := range each {
			at := strings.Index(string(data), fmt.Sprintf("line %d of %d.", i, g))
			if at <= last {
				t.Fatalf("line %d of writer %d stands at %d, the one before at %d", i, g, at, last)
			}
			last = at
		}
	}
	if got := quarantined(t, x); len(got) != writers*each {
		t.Errorf("%d bad lines are kept, want %d", len(got), writers*each)
	}
	for _, line := range eventLines(t, x) {
		if !json.Valid([]byte(line)) {
			t.Errorf("a torn event: %q", line)
		}
	}
	x.DropPack()
	if a, b := look(t, x, "context/pack.json"), freshPack(t, x); a != b {
		t.Error("in the end the pack is not what a store that starts now gives")
	}
	if x.refs != 0 {
		t.Errorf("%d users are left", x.refs)
	}
}

// whole tells whether data is whole JSON.
func whole(data []byte, err error) error {
	if err == nil && !json.Valid(data) {
		err = fmt.Errorf("not JSON: %.100q", data)
	}
	return err
}

// TestCreateTogether makes one session from several goroutines: one of them makes it, all get the same object.
func TestCreateTogether(t *testing.T) {
	c := container(t, openStore(t, t.TempDir(), Options{}), coder)
	var made atomic.Int64
	seen := make([]*Session, 8)
	var wg sync.WaitGroup
	for i := range seen {
		wg.Go(func() {
			if _, err := c.Create("s", me); err == nil {
				made.Add(1)
			}
			x, err := c.Session("s")
			if err != nil {
				t.Error(err)
			}
			seen[i] = x
		})
	}
	wg.Wait()
	for _, x := range seen {
		if x != seen[0] {
			t.Error("two objects of one session")
		}
	}
	if made.Load() != 1 {
		t.Errorf("it was made %d times", made.Load())
	}
}
