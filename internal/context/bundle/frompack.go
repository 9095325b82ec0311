package bundle

import (
	"bytes"
	"encoding/json"
	"strings"

	"ctxfs/internal/context/pack"
	"ctxfs/internal/swap"
)

// From gives the context of a pack: of in, made at created (RFC 3339). count counts tokens. An entry is one record of the
// log, one line of facts or decisions, or one file, as the pack shows it: with its cuts, and with secrets masked.
func From(p *pack.Pack, in pack.Input, created string, count func(string) int) Context {
	f := &from{in: in, count: count, c: Context{CreatedAt: created, Query: p.Query, Budget: in.Budget}}
	for i := range p.Items {
		it := &p.Items[i]
		slot, text := Slot(it.Kind), p.Markdown[min(it.Start, len(p.Markdown)):min(it.End, len(p.Markdown))]
		switch {
		case slot == "":
		case it.Source == "messages.jsonl":
			f.records(it, string(text))
		case strings.HasSuffix(it.Source, ".jsonl") && it.Kind != "refs":
			f.lines(it, slot, fenced(text))
		default:
			f.file(it, slot, fenced(text))
		}
	}
	f.there()
	return f.c
}

type from struct {
	in    pack.Input
	count func(string) int
	c     Context
}

// fenced gives what stands in the fence of a section.
func fenced(section []byte) string {
	_, text, _ := strings.Cut(string(section), "\n\n")
	fence, text, _ := strings.Cut(text, "\n")
	return strings.TrimSuffix(strings.TrimRight(text, "\n"), fence)
}

func recordID(n string) string { return EntryID("messages:"+n, nil) }

// add completes an item by what the pack says of it.
func (f *from) add(it *pack.Item, x Item) {
	x.Tokens, x.Score, x.Relevance = f.count(x.Content), it.Score, it.Parts.Relevance
	if strings.HasPrefix(x.Content, "[... ") || strings.Contains(x.Content, "\n[... ") {
		x.Resolution = Compressed // the marks of a pack are the only lines that begin so
	}
	if x.Content == "" {
		x.Resolution = Pointer
	}
	f.c.Items = append(f.c.Items, x)
}

// records takes a run of records apart, by the marks that stand before each block.
func (f *from) records(it *pack.Item, text string) {
	var n string
	var part strings.Builder
	end := func() {
		if n != "" {
			text := strings.TrimRight(part.String(), "\n")
			f.add(it, Item{ID: recordID(n), Slot: "evidence", Content: text, UnitRef: swap.OpenPath("messages:" + n), SupersededBy: newer(text), Log: true})
		}
		part.Reset()
	}
	for line := range strings.Lines(text) {
		if m := mark(line); m != "" && m != n {
			end()
			n = m
		}
		part.WriteString(line)
	}
	end()
}

// mark gives the number of the record that a line of the form "[12 ..." or "[12.3 ..." begins, "" for another line.
func mark(line string) string {
	rest, ok := strings.CutPrefix(line, "[")
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	if !ok || digits == len(rest) || !strings.ContainsRune(" .]", rune(rest[digits])) {
		return ""
	}
	return rest[:digits]
}

// newer gives the id of the record whose content a pack shows in place of this one's, when nothing else of it is left:
// "[... 120 tokens, newer in 12: cat ...]". Marks are the only lines that begin with '['.
func newer(text string) (id string) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "[") {
			return ""
		}
		if _, n, ok := strings.Cut(line, " tokens, newer in "); ok {
			n, _, _ = strings.Cut(n, ":")
			id = recordID(n)
		}
	}
	return id
}

// statement is what a line of facts.jsonl or decisions.jsonl says.
type statement struct {
	ID         string `json:"id"`
	Text       string `json:"text"`
	Decision   string `json:"decision"`
	Source     string `json:"source"`
	Supersedes string `json:"supersedes"`
	Status     string `json:"status"`
}

// item is a line of the file as an entry; ok is false for a line that says nothing, as the mark of a cut.
func (s *statement) item(file string, line []byte) (x Item, ok bool) {
	if json.Unmarshal(line, s) != nil || s.Text+s.Decision == "" {
		return x, false
	}
	x.Content, x.Subject, x.UnitRef = s.Text+s.Decision, file, file
	if s.ID != "" {
		x.Subject += "#" + s.ID
	}
	if s.Supersedes != "" {
		x.Supersedes = file + "#" + s.Supersedes
	}
	if _, err := swap.ParseRange(s.Source); err == nil && strings.HasPrefix(s.Source, "messages:") {
		x.UnitRef = swap.OpenPath(s.Source)
	}
	x.Withdrawn = s.Status == Deprecated || s.Status == Superseded || s.Status == "withdrawn"
	x.ID = EntryID(x.Subject, []byte(x.Content))
	return x, true
}

func (f *from) lines(it *pack.Item, slot, text string) {
	own := f.authored(it.Source) != nil
	for line := range strings.Lines(text) {
		var s statement
		if x, ok := s.item(it.Source, []byte(line)); ok {
			x.Slot, x.Authored, x.Inferred, x.Log = slot, own, !own, !own
			f.add(it, x)
		}
	}
}

// file takes a file as one entry. What was derived, and what a reference shows of the log, cannot be taken away.
func (f *from) file(it *pack.Item, slot, text string) {
	x := Item{Subject: it.Path, UnitRef: it.Path, Slot: slot, Content: text}
	x.ID = EntryID(x.Subject, []byte(it.Value()))
	switch {
	case it.Path != it.Source:
		x.Log = true
	case strings.HasPrefix(it.Source, "context/pinned/") || f.authored(it.Source) != nil:
		x.Authored = true
	case it.Kind != "child_result":
		x.Inferred, x.Log = true, true
	}
	f.add(it, x)
}

// authored gives the file that an agent wrote in place of a derived one, nil when it did not.
func (f *from) authored(path string) []byte {
	a := f.in.Authored
	switch path {
	case "context/summary.md":
		return a.Summary
	case "context/facts.jsonl":
		return a.Facts
	case "context/decisions.jsonl":
		return a.Decisions
	case "context/todo.md":
		return a.Todo
	case "context/refs.jsonl":
		return a.Refs
	}
	return nil
}

// there lists the entries that can be taken away, and were not: those of pinned and authored files and of children.
func (f *from) there() {
	whole := func(path string, data []byte) {
		if data != nil {
			f.c.Omitted = append(f.c.Omitted, EntryID(path, []byte(swap.Sum(data).String())))
		}
	}
	for _, p := range f.in.Pinned {
		whole(p.Path, append([]byte{}, p.Data...))
	}
	for _, path := range []string{"context/facts.jsonl", "context/decisions.jsonl"} {
		for line := range bytes.Lines(f.authored(path)) {
			var s statement
			if x, ok := s.item(path, line); ok && !x.Withdrawn {
				f.c.Omitted = append(f.c.Omitted, x.ID)
			}
		}
	}
	for _, path := range []string{"context/summary.md", "context/todo.md", "context/refs.jsonl"} {
		whole(path, f.authored(path))
	}
	for _, c := range f.in.Children {
		whole("context/child/"+c.ID+"/result.md", c.Result)
		whole("context/child/"+c.ID+"/handoff.md", c.Handoff)
	}
}
