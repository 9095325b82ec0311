package quality

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"ctxfs/internal/context/derive"
	"ctxfs/internal/context/pack"
	"ctxfs/internal/quality/corpus"
	"ctxfs/internal/record"
)

// NextStep counts the edits of coding sessions whose ground the model would have had before it: in the pack of the
// turn before, and in a plain tail of the log of the same budget.
type NextStep struct {
	Edits            int // edits of text that an earlier record shows
	Pack, Tail       int // the edited lines are there
	Reads            int // edits of files whose latest content came from a tool
	PackAll, TailAll int // that content is there whole
}

// Add adds up two measurements.
func (s *NextStep) Add(o NextStep) {
	s.Edits += o.Edits
	s.Pack += o.Pack
	s.Tail += o.Tail
	s.Reads += o.Reads
	s.PackAll += o.PackAll
	s.TailAll += o.TailAll
}

// maxEdits is how many edits of a session are looked at, evenly spread.
const maxEdits = 30

// edit is a call that changes a file.
type edit struct {
	n     int
	lines []string // the lines that it replaces or keeps as context
	from  int      // the record of seen
	seen  string   // the latest content of the file that a tool gave before; empty when unknown
}

// Steps looks at the edits of one session. It tells misses, when not nil, which ones only the tail has.
func Steps(t pack.Tokenizer, s corpus.Session, budget int, misses io.Writer) (NextStep, error) {
	var out NextStep
	h := record.NewMemory(s.Log)
	edits, texts, err := findEdits(h)
	if err != nil {
		return out, err
	}
	every := len(edits)/maxEdits + 1
	w := pack.NewWorkset(t)
	for i := 0; i < len(edits); i += every {
		e := edits[i]
		for w.Len() < e.n-1 {
			if err := foldNext(w, h, w.Len()+1); err != nil {
				return out, err
			}
		}
		p, err := w.Build(pack.Input{Session: "s", Agent: "a", Budget: budget, History: h})
		if err != nil {
			return out, err
		}
		before := out
		out.look(e, string(p.Markdown), tail(t, texts[:e.n-1], budget))
		if misses != nil && (out.Tail-before.Tail > out.Pack-before.Pack || out.TailAll-before.TailAll > out.PackAll-before.PackAll) {
			fmt.Fprintf(misses, "%s, %d tokens: the edit in record %d; its file was seen in %d, %d tokens\n", s.Name, budget, e.n, e.from, t.Count(e.seen))
		}
	}
	return out, nil
}

func (s *NextStep) look(e edit, packed, tail string) {
	if len(e.lines) > 0 {
		s.Edits++
		if hasLines(packed, e.lines) {
			s.Pack++
		}
		if hasLines(tail, e.lines) {
			s.Tail++
		}
	}
	if e.seen != "" {
		s.Reads++
		if strings.Contains(packed, strings.TrimSpace(e.seen)) {
			s.PackAll++
		}
		if strings.Contains(tail, strings.TrimSpace(e.seen)) {
			s.TailAll++
		}
	}
}

func hasLines(text string, lines []string) bool {
	for _, l := range lines {
		if !strings.Contains(text, l) {
			return false
		}
	}
	return true
}

// tail is the plain end of the log: what all records say, whole, cut to the budget from the front.
func tail(t pack.Tokenizer, texts []string, budget int) string {
	start, bytes := len(texts), 0
	for start > 0 && bytes < budget*12 {
		start--
		bytes += len(texts[start])
	}
	all := strings.Join(texts[start:], "\n")
	n, _ := t.Suffix(all, budget)
	return all[len(all)-n:]
}

// findEdits reads a session: its edits, and the text of each record.
func findEdits(h *record.Memory) ([]edit, []string, error) {
	var edits []edit
	var texts []string
	seen := map[string]string{}  // by path
	from := map[string]int{}     // its record
	reads := map[string]string{} // path by call id
	for n := 1; n <= h.Len(); n++ {
		r, err := h.Record(n)
		if err != nil {
			return nil, nil, err
		}
		for i := range r.Blocks {
			b := &r.Blocks[i]
			if p := reads[b.CallID]; b.Kind == record.ToolResult && p != "" && !b.IsError && len(b.Text) > 200 {
				seen[p], from[p] = b.Text, n
			}
			if b.Kind != record.ToolUse {
				continue
			}
			for _, p := range derive.Paths(b) {
				if !derive.Edits(b.Name) {
					reads[b.CallID] = p
					continue
				}
				if e := (edit{n: n, lines: shownBefore(texts, editedLines(b)), from: from[p], seen: seen[p]}); len(e.lines) > 0 || e.seen != "" {
					edits = append(edits, e)
				}
				break
			}
		}
		texts = append(texts, textOf(&r))
	}
	return edits, texts, nil
}

func textOf(r *record.Record) string {
	var parts []string
	for i := range r.Blocks {
		parts = append(parts, r.Blocks[i].Text+r.Blocks[i].Input)
	}
	return strings.Join(parts, "\n")
}

// editedLines are the lines that an edit takes as they are: old_string, or a patch's context and removed lines.
func editedLines(b *record.Block) []string {
	var in struct {
		Old   string `json:"old_string"`
		Patch string `json:"patch"`
		Input string `json:"input"`
	}
	if json.Unmarshal([]byte(b.Input), &in) != nil {
		in.Patch = b.Input
	}
	var out []string
	for _, l := range strings.Split(in.Old, "\n") {
		out = append(out, strings.TrimSpace(l))
	}
	for _, l := range strings.Split(in.Patch+in.Input, "\n") {
		if l != "" && (l[0] == ' ' || l[0] == '-') {
			out = append(out, strings.TrimSpace(l[1:]))
		}
	}
	return out
}

// shownBefore keeps the lines that say something, when each stands in an earlier record; else nothing.
func shownBefore(texts, lines []string) []string {
	var out []string
	for _, l := range lines {
		if len(l) < 8 {
			continue
		}
		found := false
		for i := len(texts) - 1; i >= 0 && !found; i-- {
			found = strings.Contains(texts[i], l)
		}
		if !found {
			return nil
		}
		out = append(out, l)
	}
	return out
}
