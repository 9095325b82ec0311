package pack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"ctxfs/internal/context/token"
	"ctxfs/internal/record"
	"ctxfs/internal/swap"
)

var tokenizer = sync.OnceValues(func() (*token.Encoding, error) { return token.New("o200k_base") })

func counter(t testing.TB) *token.Encoding {
	t.Helper()
	e, err := tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

type msg map[string]any

func text(role, s string) msg { return msg{"role": role, "content": s} }

// logOf writes messages as a log.
func logOf(t testing.TB, messages ...msg) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, m := range messages {
		line, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
	return out.Bytes()
}

// fold folds a whole log.
func fold(t testing.TB, log []byte) (*Workset, *record.Memory) {
	t.Helper()
	h := record.NewMemory(log)
	w := NewWorkset(counter(t))
	for n := 1; n <= h.Len(); n++ {
		add(t, w, h, n)
	}
	return w, h
}

func add(t testing.TB, w *Workset, h record.History, n int) {
	t.Helper()
	raw, err := h.Raw(n)
	if err != nil {
		t.Fatal(err)
	}
	r, err := h.Record(n)
	if err != nil {
		w.AddBad(n, raw, "not a JSON object")
		return
	}
	w.Add(r, raw)
}

func build(t testing.TB, w *Workset, h record.History, budget int) *Pack {
	t.Helper()
	p, err := w.Build(Input{Session: "s", Agent: "a", Budget: budget, History: h})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// hold checks the invariants of design.md section 4 on a built pack.
func hold(t testing.TB, w *Workset, in Input, p *Pack) {
	t.Helper()
	if err := broken(w, in, p); err != nil {
		t.Errorf("%s, %d records, budget %d: %v", in.Session, w.Len(), in.Budget, err)
	}
}

func broken(w *Workset, in Input, p *Pack) error {
	for _, check := range []func(*Workset, Input, *Pack) error{overBudget, unaccounted, splitPairs, noUser, unfenced, unreadable} {
		if err := check(w, in, p); err != nil {
			return err
		}
	}
	return nil
}

func overBudget(w *Workset, in Input, p *Pack) error {
	lim := in.Budget - in.Reserve
	if n := w.tok.Count(string(p.Markdown)); n > lim || n != p.Tokens {
		return fmt.Errorf("pack.md counts %d, the pack says %d, the limit is %d", n, p.Tokens, lim)
	}
	sum := 0
	for _, it := range p.Items {
		sum += it.Tokens
	}
	if sum > lim {
		return fmt.Errorf("the items count %d, the limit is %d", sum, lim)
	}
	if !json.Valid(p.JSON) {
		return fmt.Errorf("pack.json is not JSON")
	}
	return nil
}

// unaccounted checks that each record is in exactly one item or omitted range.
func unaccounted(w *Workset, _ Input, p *Pack) error {
	seen := make([]int, w.Len()+1)
	count := func(source, rng string) {
		if source != messagesFile || strings.Contains(rng, ".") {
			return
		}
		if r, err := swap.ParseRange(rng); err == nil {
			for n := r.A; n <= r.B; n++ {
				seen[n]++
			}
		}
	}
	for _, it := range p.Items {
		count(it.Source, it.Range)
	}
	for _, o := range p.Omitted {
		if o.Reason == "" || o.Kind == "" || o.Source == "" || o.Path == "" {
			return fmt.Errorf("an omission says too little: %+v", o)
		}
		count(o.Source, o.Range)
	}
	for n := 1; n <= w.Len(); n++ {
		if seen[n] != 1 {
			return fmt.Errorf("record %d is accounted for %d times", n, seen[n])
		}
	}
	return nil
}

var (
	markerLine = regexp.MustCompile(`^\[(\d+)(?:\.(\d+))? (.*)\]$`)
	fenceLine  = regexp.MustCompile("^(`{3,}|~{3,})")
)

// blocksShown gives the blocks whose markers stand in pack.md, as "12.2".
func blocksShown(p *Pack) map[string]bool {
	out := map[string]bool{}
	for _, l := range strings.Split(string(p.Markdown), "\n") {
		if m := markerLine.FindStringSubmatch(l); m != nil {
			k := m[2]
			if k == "" {
				k = "1"
			}
			out[m[1]+"."+k] = true
		}
	}
	return out
}

func splitPairs(w *Workset, _ Input, p *Pack) error {
	in := blocksShown(p)
	for _, l := range w.links {
		call, result := fmt.Sprintf("%d.%d", l.call, l.cblock), fmt.Sprintf("%d.%d", l.result, l.rblock)
		if in[call] != in[result] {
			return fmt.Errorf("of the call %s (shown: %v) and its result %s (shown: %v) only one is in", call, in[call], result, in[result])
		}
	}
	return nil
}

// noUser checks that the latest user message is in, unless the pack says that it is too small for anything.
func noUser(w *Workset, in Input, p *Pack) error {
	u := w.latestUser(w.Len())
	if u == 0 || len(p.Items) == 1 && p.Items[0].Kind == kindError {
		return nil
	}
	if !blocksShown(p)[fmt.Sprintf("%d.1", u)] {
		return fmt.Errorf("the latest user message, record %d, is not in", u)
	}
	return nil
}

// unfenced checks that fences balance and that outside of them stand only our own headings and sentences.
func unfenced(_ *Workset, _ Input, p *Pack) error {
	open := ""
	for i, l := range strings.Split(string(p.Markdown), "\n") {
		m := fenceLine.FindString(l)
		switch {
		case open == "" && m != "":
			open = m
		case open != "" && strings.HasPrefix(m, open) && strings.Trim(l, m[:1]+" ") == "":
			open = ""
		case open == "" && l != "" && !strings.HasPrefix(l, "#") && !strings.HasPrefix(l, "Budget ") && !strings.HasPrefix(l, "context/") && !strings.HasPrefix(l, "error"):
			return fmt.Errorf("line %d stands outside of a fence: %q", i+1, l)
		}
	}
	if open != "" {
		return fmt.Errorf("a fence is not closed")
	}
	return nil
}

// unreadable checks that each omitted thing of the log can be opened at its path.
func unreadable(w *Workset, in Input, p *Pack) error {
	opened := 0
	for _, o := range p.Omitted {
		name, ok := strings.CutPrefix(o.Path, "context/swap/open/")
		if !ok || opened > 20 {
			continue
		}
		opened++
		data, ok, err := w.Open(in.History, name)
		if err != nil || !ok || len(data) == 0 && o.Tokens > 0 && o.Reason != outPair {
			return fmt.Errorf("%s cannot be read: %d bytes, %v %v", o.Path, len(data), ok, err)
		}
	}
	return nil
}
