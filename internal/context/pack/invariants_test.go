package pack

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ctxfs/internal/context/derive"
	"ctxfs/internal/record"
	"ctxfs/internal/swap"
)

// hold checks the invariants of design.md section 4 on a built pack.
func hold(t testing.TB, w *Workset, in Input, p *Pack) {
	t.Helper()
	if err := broken(w, in, p); err != nil {
		t.Errorf("%s, %d records, budget %d: %v", in.Session, w.Len(), in.Budget, err)
	}
}

// invariant is a check of a built pack, whose Markdown was read into a page.
type invariant func(w *Workset, in Input, p *Pack, page *readPage) error

func broken(w *Workset, in Input, p *Pack) error {
	page, err := readMarkdown(string(p.Markdown))
	if err != nil {
		return err
	}
	for _, check := range []invariant{overBudget, sameJSON, unaccountedRecords, unaccountedFiles, untrueBlocks, splitPairs, noUser, tornLines, unreadable} {
		if err := check(w, in, p, page); err != nil {
			return err
		}
	}
	return nil
}

func overBudget(w *Workset, in Input, p *Pack, _ *readPage) error {
	lim := max(in.Budget-in.Reserve, 0)
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
	return nil
}

// sameJSON checks that pack.json says what the pack holds.
func sameJSON(_ *Workset, in Input, p *Pack, _ *readPage) error {
	var doc struct {
		Budget  int `json:"budget_tokens"`
		Tokens  int `json:"tokens"`
		Inputs  []Source
		Items   []Item
		Omitted []Omitted
	}
	if err := json.Unmarshal(p.JSON, &doc); err != nil {
		return err
	}
	if doc.Budget != in.Budget || doc.Tokens != p.Tokens || !slices.Equal(doc.Inputs, p.Inputs) || !slices.EqualFunc(doc.Items, p.Items, sameItem) || !slices.Equal(doc.Omitted, p.Omitted) {
		return fmt.Errorf("pack.json is not what was built")
	}
	return nil
}

// sameItem tells whether a is what pack.json says of b.
func sameItem(a, b Item) bool {
	b.Start, b.End = 0, 0
	return reflect.DeepEqual(a, b)
}

// unaccountedRecords checks that each record is in exactly one item or omitted range, with a score that is its parts'.
func unaccountedRecords(w *Workset, _ Input, p *Pack, _ *readPage) error {
	seen := make([]int, w.Len()+1)
	count := func(source, rng string) error {
		if source != messagesFile || strings.Contains(rng, ".") {
			return nil
		}
		r, err := swap.ParseRange(rng)
		for n := r.A; err == nil && n <= r.B; n++ {
			seen[n]++
		}
		return err
	}
	for _, it := range p.Items {
		if err := count(it.Source, it.Range); err != nil {
			return err
		}
		if it.Kind == "" || it.Source == "" || it.Score != it.Parts.sum() || it.Value() == "" && it.Kind != kindError {
			return fmt.Errorf("an item says too little: %+v", it)
		}
	}
	for _, o := range p.Omitted {
		if o.Reason == "" || o.Kind == "" || o.Source == "" || o.Path == "" || o.Value() == "" || o.Score != o.Parts.sum() {
			return fmt.Errorf("an omission says too little: %+v", o)
		}
		if err := count(o.Source, o.Range); err != nil {
			return err
		}
	}
	for n := 1; n <= w.Len(); n++ {
		if seen[n] != 1 {
			return fmt.Errorf("record %d is accounted for %d times", n, seen[n])
		}
	}
	return nil
}

// unaccountedFiles checks that each file of the input is in an item or omitted, and both when its item is cut.
func unaccountedFiles(_ *Workset, in Input, p *Pack, _ *readPage) error {
	for source := range inputFiles(in) {
		items, cut, out := 0, false, 0
		for _, it := range p.Items {
			if it.Source == source {
				items++
				cut = it.Cut
			}
		}
		for _, o := range p.Omitted {
			if o.Source == source {
				out++
			}
		}
		if strings.HasSuffix(source, ".ref") {
			continue // its lines are candidates, not it
		}
		if items+out == 0 || items == 1 && cut != (out == 1) || items > 1 || out > 1 {
			return fmt.Errorf("%s: %d items, cut %v, %d omissions", source, items, cut, out)
		}
	}
	return nil
}

// inputFiles are the files of in that are candidates, with their bytes.
func inputFiles(in Input) map[string][]byte {
	a := in.Authored
	all := map[string][]byte{"context/summary.md": a.Summary, "context/facts.jsonl": a.Facts, "context/decisions.jsonl": a.Decisions,
		"context/todo.md": a.Todo, "context/refs.jsonl": a.Refs}
	for _, f := range in.Pinned {
		all[f.Path] = f.Data
	}
	for _, c := range in.Children {
		all["context/child/"+c.ID+"/result.md"] = c.Result
		if c.Result == nil {
			all["context/child/"+c.ID+"/handoff.md"] = c.Handoff
		}
	}
	for path, data := range all {
		if data == nil {
			delete(all, path)
		}
	}
	return all
}

// untrueBlocks checks what stands in pack.md block by block: each block of a record that is in stands there once and
// whole, or is omitted in part; a block that is cut names the path where it is whole; nothing else stands there.
func untrueBlocks(w *Workset, in Input, p *Pack, page *readPage) error {
	omitted := map[string]Omitted{}
	for _, o := range p.Omitted {
		if strings.Contains(o.Range, ".") {
			omitted[o.Range] = o
		}
	}
	left := len(page.blocks)
	for _, it := range p.Items {
		r, ok := itemRange(it)
		for n := r.A; ok && n <= r.B; n++ {
			f := flow{w: w, h: in.History, cache: map[int]*record.Record{}}
			rec, err := f.load(n)
			if err != nil {
				return err
			}
			for i := range rec.Blocks {
				id := fmt.Sprintf("%d.%d", n, i+1)
				text, in := page.blocks[id]
				o, out := omitted[id]
				if in {
					left--
				}
				if rest, ok := likeAnother(page, text); ok && o.Reason == outDuplicate {
					text, in, out = rest, true, rest == ""
				}
				if err := untrueBlock(text, in, shown(&rec.Blocks[i]), o, out); err != nil {
					return fmt.Errorf("block %s: %w", id, err)
				}
			}
		}
	}
	if left != 0 {
		return fmt.Errorf("pack.md holds %d blocks that are in no item", left)
	}
	return nil
}

func untrueBlock(text string, in bool, whole string, o Omitted, out bool) error {
	want := strings.TrimSuffix(guard(whole), "\n")
	switch {
	case !in && !out:
		return fmt.Errorf("neither shown nor omitted")
	case out && in != (o.Reason != outPair):
		return fmt.Errorf("shown %v, omitted for %s", in, o.Reason)
	case in && !out && strings.TrimSuffix(text, "\n") != want:
		return fmt.Errorf("shown as %.200q, is %.200q", text, want)
	case in && out && !strings.Contains(text, "cat "+o.Path+"]"):
		return fmt.Errorf("cut, and does not say where it is whole: %.200q", text)
	}
	return nil
}

// likeAnother gives a block's text back that is shown by its difference from another block of the pack.
func likeAnother(page *readPage, text string) (string, bool) {
	head, diff, _ := strings.Cut(text, "\n")
	var tokens int
	var name string
	if _, err := fmt.Sscanf(head, "[... %d tokens, as %s but for", &tokens, &name); err != nil {
		return "", false
	}
	old := strings.Split(strings.TrimSuffix(page.blocks[name], "\n"), "\n")
	lines, err := patched(old, diff)
	if err != nil {
		return err.Error(), true
	}
	return strings.Join(lines, "\n") + "\n", true
}

func splitPairs(w *Workset, _ Input, _ *Pack, page *readPage) error {
	for _, l := range w.links {
		call, result := fmt.Sprintf("%d.%d", l.call, l.cblock), fmt.Sprintf("%d.%d", l.result, l.rblock)
		_, a := page.blocks[call]
		_, b := page.blocks[result]
		if a != b {
			return fmt.Errorf("of the call %s (shown: %v) and its result %s (shown: %v) only one is in", call, a, result, b)
		}
	}
	return nil
}

// noUser checks that the latest user message is in, unless the pack says that it is too small for anything.
func noUser(w *Workset, in Input, p *Pack, page *readPage) error {
	u := w.latestUser(w.Len())
	if u == 0 || len(p.Items) == 1 && p.Items[0].Kind == kindError {
		return nil
	}
	r, err := in.History.Record(u)
	if err != nil {
		return err
	}
	for i := range r.Blocks {
		text, ok := page.blocks[fmt.Sprintf("%d.%d", u, i+1)]
		if k := r.Blocks[i].Kind; (k == record.Text || k == record.Image) && (!ok || text == "" && shown(&r.Blocks[i]) != "") {
			return fmt.Errorf("block %d of the latest user message, record %d, is not in", i+1, u)
		}
	}
	return nil
}

// tornLines checks that files of JSON lines stand in pack.md as whole lines.
func tornLines(_ *Workset, _ Input, p *Pack, page *readPage) error {
	for title, text := range page.docs {
		if !strings.HasSuffix(strings.Fields(title)[1], ".jsonl") {
			continue
		}
		for l := range strings.Lines(text) {
			if !json.Valid([]byte(l)) && !strings.HasPrefix(l, "[... cut: cat context/") {
				return fmt.Errorf("%s: a line of it is cut: %q", title, l)
			}
		}
	}
	return nil
}

// unreadable checks that each omitted thing can be read at its path, and is what its hash says: all of them in
// small logs, some in large ones.
func unreadable(w *Workset, in Input, p *Pack, _ *readPage) error {
	step := 1
	if w.Len() > 200 {
		step = len(p.Omitted)/20 + 1
	}
	files := inputFiles(in)
	for i := 0; i < len(p.Omitted); i += step {
		o := p.Omitted[i]
		data, ok := files[o.Path]
		var err error
		if name, open := strings.CutPrefix(o.Path, "context/swap/open/"); open {
			data, ok, err = w.Open(in.History, name)
		} else if kind, derived := derivedKind(o.Path); derived && !ok {
			data, err = w.Derived(in.History, kind)
			ok = len(data) > 0
		}
		if err != nil || !ok {
			return fmt.Errorf("%s cannot be read: %v %v", o.Path, ok, err)
		}
		if err := otherBytes(w, o, data); err != nil {
			return err
		}
	}
	return nil
}

// otherBytes checks data, read at o's path, against o's digest. What a pack takes of a derived file is as of a record: the file
// goes on growing after it.
func otherBytes(w *Workset, o Omitted, data []byte) error {
	if o.AsOf != "" {
		if _, derived := derivedKind(o.Path); !derived || o.Records < 1 || o.Records > w.Len() {
			return fmt.Errorf("%s: as of record %d", o.Path, o.Records)
		}
		return nil
	}
	if o.Source != messagesFile || strings.Contains(o.Range, ".") {
		if got := swap.Sum(data).String(); got != o.Hash {
			return fmt.Errorf("%s: what stands there has the hash %s, not %s", o.Path, got, o.Hash)
		}
		return nil
	}
	r, err := swap.ParseRange(o.Range)
	n := r.A
	for l := range strings.Lines(string(data)) {
		if n > r.B || swap.Sum([]byte(l)) != w.hash(swap.Range{A: n, B: n}) {
			return fmt.Errorf("%s: the line of record %d is another one", o.Path, n)
		}
		n++
	}
	if err != nil || n != r.B+1 || w.hash(r).String() != o.Value() {
		return fmt.Errorf("%s: %d lines, %v", o.Path, n-r.A, err)
	}
	return nil
}

func derivedKind(path string) (derive.Kind, bool) {
	k := derive.Kind(strings.TrimPrefix(path, "context/"))
	return k, slices.Contains([]derive.Kind{derive.Summary, derive.Facts, derive.Decisions, derive.Todo, derive.Refs}, k)
}
