// Package derive draws the typed files of a session's context from its records: summary, facts, decisions, todo and
// refs (context-runtime-abi, "Compression"). It only extracts: each line is somebody's own words or a count, and
// names the records that it stands on. Where nothing is known, nothing is said.
package derive

import (
	"bytes"
	"encoding/json"
	"strconv"

	"ctxfs/internal/record"
)

// Kind is one of the derived files, by its name under context/.
type Kind string

// The derived files.
const (
	Summary   Kind = "summary.md"
	Facts     Kind = "facts.jsonl"
	Decisions Kind = "decisions.jsonl"
	Todo      Kind = "todo.md"
	Refs      Kind = "refs.jsonl"
)

// State is the fold of a log from which the files are written, all but the summary. Each of its answers can be given
// as of an earlier record: what the first upTo records say.
type State struct {
	mask      func(text string) string
	facts     []saying
	decisions []saying
	seen      map[uint64]bool // sayings that stand in facts or decisions
	todos     []todoList
	parents   bool // the last of todos is of the session that this one was forked from
	tasks     []taskChange
	made      int               // tasks made so far
	making    map[string]int    // calls that make a task -> its change, until their results come
	asked     map[string]string // calls that ask the user -> their input, until their results come
	calls     map[string]string // calls without a result yet, in words
	outputs   []output
	files     []file
	order     []touched
	byPath    map[string]int
}

// saying is a sentence and the record that it stands in.
type saying struct {
	n    int
	text string
}

// NewState returns the fold of an empty log. mask masks the secrets of a text; nil masks nothing. Texts are masked before they
// are taken apart, since a part of a secret is not found as one.
func NewState(mask func(text string) string) *State {
	if mask == nil {
		mask = func(text string) string { return text }
	}
	return &State{mask: mask, seen: map[uint64]bool{}, byPath: map[string]int{}, making: map[string]int{}, asked: map[string]string{}, calls: map[string]string{}}
}

// Add folds the next record.
func (s *State) Add(r *record.Record) {
	if r.Sidechain {
		return
	}
	s.fork(r)
	switch {
	case r.IsUser():
		s.listen(r.N, r.Words(), userSays)
	case r.Role == "assistant":
		s.listen(r.N, r.Words(), assistantSays)
	}
	for i := range r.Blocks {
		switch b := &r.Blocks[i]; b.Kind {
		case record.ToolUse:
			call := *b
			call.Name, call.Input = s.mask(b.Name), s.mask(b.Input)
			s.todo(r.N, &call)
			s.task(r.N, &call)
			s.asks(&call)
			s.called(&call)
			s.touch(r.N, i+1, &call)
		case record.ToolResult:
			s.numbered(b)
			s.answered(r.N, b)
			s.output(r.N, i+1, b)
		}
	}
}

// Fact is a line of facts.jsonl.
type Fact struct {
	ID     string `json:"id"`
	Text   string `json:"text"`
	Source string `json:"source"`
}

// Decision is a line of decisions.jsonl.
type Decision struct {
	ID       string `json:"id"`
	Decision string `json:"decision"`
	Source   string `json:"source"`
}

// Facts writes facts.jsonl as of record upTo.
func (s *State) Facts(upTo int) []byte {
	var out bytes.Buffer
	for i, f := range s.facts {
		if f.n <= upTo {
			line(&out, Fact{"f" + strconv.Itoa(i+1), f.text, ref(f.n)})
		}
	}
	return out.Bytes()
}

// Decisions writes decisions.jsonl as of record upTo.
func (s *State) Decisions(upTo int) []byte {
	var out bytes.Buffer
	for i, d := range s.decisions {
		if d.n <= upTo {
			line(&out, Decision{"d" + strconv.Itoa(i+1), d.text, ref(d.n)})
		}
	}
	return out.Bytes()
}

func ref(n int) string { return "messages:" + strconv.Itoa(n) }

// line adds v as a line of JSON. The structs of this package always marshal.
func line(out *bytes.Buffer, v any) {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // a bytes.Buffer takes every write
}
