package bundle

import (
	"bytes"
	"fmt"
)

// lifecycle reads lifecycle.jsonl, which may be absent.
func (f *finder) lifecycle(files map[string][]byte) []Line {
	data, ok := f.small(files, LifecycleFile, false)
	if !ok {
		return nil
	}
	var out []Line
	at := Problem{File: LifecycleFile}
	for raw := range bytes.Lines(data) {
		at.Line++
		if len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		if len(out) == MaxLines {
			f.tell(at, fmt.Sprintf("is the %dth line", MaxLines+1), fmt.Sprintf("keep the log to %d lines", MaxLines))
			return out
		}
		f.rows = append(f.rows, at.Line)
		if f.sound(at, raw) {
			out = append(out, f.line(at, raw))
		} else {
			out = append(out, Line{})
		}
	}
	return out
}

func (f *finder) line(at Problem, raw []byte) (l Line) {
	o := f.object(at, raw)
	if o == nil {
		return l
	}
	l.EntryID = o.line("entry_id", maxName, true)
	o.at.Entry = l.EntryID // in what is told from here on
	l.TS = o.time("ts")
	l.Decision = o.one("decision", Commit, Evict, Supersede, Deprecate)
	l.Status = o.one("status", Hypothesis, Active, Validated, Deprecated, Superseded)
	l.Supersedes = o.line("supersedes", maxName, false)
	if raw := o.take("reason", false); raw != nil {
		l.Reason = f.reason(o.at, raw)
	}
	l.Foreign = o.rest()
	return l
}

func (f *finder) reason(at Problem, raw []byte) *Reason {
	fields, ok := fieldsOf(raw)
	if !ok {
		f.tell(at, "reason is "+short(string(raw))+", not an object", `write it as {"relevance":0.9,"novelty":0.5,"drift":0}`)
		return nil
	}
	o := &object{finder: f, at: at, fields: fields, taken: map[string]bool{}}
	r := &Reason{Relevance: o.signal("relevance"), Novelty: o.signal("novelty"), Drift: o.signal("drift")}
	r.Foreign = o.rest()
	return r
}

// signal reads a signal of a decision, a share from 0 to 1.
func (o *object) signal(name string) Number {
	n := o.number(name, false)
	if v := n.Float(); v < 0 || v > 1 {
		o.tell(o.at, name+" is "+n.String(), "write a number from 0 to 1")
	}
	return n
}
