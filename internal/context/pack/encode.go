package pack

import (
	"bytes"
	"encoding/json"
	"fmt"

	"ctxfs/internal/context/derive"
	"ctxfs/internal/swap"
)

// head is what pack.json says before its lists.
type head struct {
	Session   string `json:"session"`
	Agent     string `json:"agent"`
	Budget    int    `json:"budget_tokens"`
	Reserve   int    `json:"reserve_tokens"`
	Tokens    int    `json:"tokens"` // of pack.md, counted whole
	Tokenizer string `json:"tokenizer"`
	Target    string `json:"target"`
	Query     string `json:"query"`        // its start, for people; the whole is an input
	Source    string `json:"query_source"` // given, messages:N, or none
}

// encode writes pack.json: one line per input, item and omission, so that grep and diff work on it.
func (p *Pack) encode(w *Workset, in Input) error {
	p.Inputs = w.inputs(in)
	if w.exact.err != nil {
		return fmt.Errorf("pack of %s: %w", in.Session, w.exact.err)
	}
	h := head{Session: in.Session, Agent: in.Agent, Budget: in.Budget, Reserve: in.Reserve, Tokens: p.Tokens, Tokenizer: w.tok.Name(), Target: in.target(), Source: "none"}
	if u := w.latestUser(w.Len()); in.Query != "" {
		h.Query, h.Source = derive.Excerpt(scrub(w.maskedText(in.Query)), 300), "given"
	} else if u > 0 && w.isHidden(u, in.target()) {
		h.Source = swap.Range{A: u, B: u}.Ref()
	} else if u > 0 {
		r, err := w.Masked(in.History).Record(u)
		if err != nil {
			return fmt.Errorf("pack of %s: %w", in.Session, err)
		}
		h.Query, h.Source = derive.Excerpt(scrub(r.Words()), 300), swap.Range{A: u, B: u}.Ref()
	}
	p.Query, p.Asked = h.Query, h.Source
	var out bytes.Buffer
	out.Write(bytes.TrimSuffix(bytes.ReplaceAll(swap.Line(h), []byte("\n"), nil), []byte("}")))
	rows(&out, "inputs", p.Inputs)
	rows(&out, "items", p.Items)
	rows(&out, "omitted", p.Omitted)
	out.WriteString("}\n")
	p.JSON = out.Bytes()
	if !json.Valid(p.JSON) {
		return fmt.Errorf("pack of %s: pack.json came out invalid", in.Session)
	}
	return nil
}

func rows[T any](out *bytes.Buffer, name string, list []T) {
	fmt.Fprintf(out, ",\n%q: [", name)
	for i := range list {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n ")
		out.Write(bytes.TrimSuffix(swap.Line(list[i]), []byte("\n")))
	}
	out.WriteString("]")
}

// inputs names all that the pack is a function of.
func (w *Workset) inputs(in Input) []Source {
	var out []Source
	add := func(name string, data []byte) {
		if data != nil {
			out = append(out, Source{Source: name, Bytes: int64(len(data)), Digest: hashOf(data)})
		}
	}
	log := Source{Source: messagesFile, Records: w.Len(), Bytes: w.bytes, Digest: hashOf(nil)}
	if w.Len() > 0 {
		log.Digest = w.digest(swap.Range{A: 1, B: w.Len()})
	}
	out = append(out, log)
	for _, f := range in.Pinned {
		add(f.Path, append([]byte{}, f.Data...))
	}
	for _, f := range in.Rules {
		add(f.Path, append([]byte{}, f.Data...))
	}
	for _, f := range in.Imported {
		add(f.Path, w.readable(f))
	}
	a := in.Authored
	add("context/summary.md", a.Summary)
	add("context/facts.jsonl", a.Facts)
	add("context/decisions.jsonl", a.Decisions)
	add("context/todo.md", a.Todo)
	add("context/refs.jsonl", a.Refs)
	for _, c := range in.Children {
		dir := "context/child/" + c.ID + "/"
		if c.Status != "" {
			add(dir+"status", []byte(c.Status))
		}
		add(dir+"result.md", c.Result)
		add(dir+"handoff.md", c.Handoff)
	}
	if in.Query != "" {
		add("query", []byte(in.Query))
	}
	return out
}
