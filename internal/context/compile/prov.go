package compile

import (
	"encoding/json"
	"strings"

	"ctxfs/internal/context/trace"
	"ctxfs/internal/swap"
)

func lineAnchor(a, b int) *trace.Selector {
	x, y := int64(a), int64(b)
	return &trace.Selector{Type: "line_range", Start: &x, End: &y}
}

// kindOf gives the kind that the pack has for a file.
func kindOf(file string) string {
	switch file {
	case "context/facts.jsonl":
		return "facts"
	case "context/decisions.jsonl":
		return "decisions"
	case "context/todo.md":
		return "todo"
	case "context/refs.jsonl":
		return "refs"
	}
	return ""
}

// fileProv is line n of a file of the session; with the trace's ids when the pack shows that file.
func (b *builder) fileProv(file string, n int, source string) Prov {
	p := Prov{Path: file, Anchor: lineAnchor(n, n), Source: source}
	if i, ok := b.items[kindOf(file)+" "+file]; ok && kindOf(file) != "" {
		p.ItemID, p.SourceID = b.itemID(i), trace.SourceID(b.in.Session.ID, file, "")
	}
	return p
}

func (b *builder) lineProv(file string, l line) Prov { return b.fileProv(file, l.n, l.Source) }

// recordProv is a record of the log.
func (b *builder) recordProv(n int) Prov {
	p := Prov{Path: swap.OpenPath(msgRef(n)), Anchor: lineAnchor(n, n), Source: msgRef(n)}
	for _, x := range b.ranges {
		if x.r.A <= n && n <= x.r.B {
			p.ItemID, p.SourceID = b.itemID(x.item), trace.SourceID(b.in.Session.ID, messages, "record "+strings.TrimPrefix(msgRef(n), "messages:"))
			break
		}
	}
	return p
}

// itemProv is item i of the pack.
func (b *builder) itemProv(i int) Prov {
	it := &b.in.Pack.Items[i]
	p := Prov{Path: it.Path, Source: it.Source, ItemID: b.itemID(i), SourceID: trace.SourceID(b.in.Session.ID, it.Source, it.Range)}
	if r, err := swap.ParseRange(it.Range); it.Source == messages && err == nil {
		p.Source, p.Anchor = r.Ref(), lineAnchor(r.A, r.B)
		if p.Path == "" {
			p.Path = swap.OpenPath(r.Ref())
		}
	}
	if p.Path == "" {
		p.Path = it.Source
	}
	return p
}

func pointer(at string) *trace.Selector { return &trace.Selector{Type: "json_pointer", Value: at} }

// known gives members that have no meaning here, for those to whom they have one.
func known(e Extra) map[string]any {
	if len(e) == 0 {
		return nil
	}
	out := map[string]any{}
	for k, raw := range e {
		var v any
		if json.Unmarshal(raw, &v) == nil {
			out[k] = v
		}
	}
	return out
}
