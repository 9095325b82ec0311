package trace

import (
	"errors"
	"maps"
	"strings"

	"ctxfs/internal/context/pack"
	"ctxfs/internal/record"
	"ctxfs/internal/swap"
)

const messages = "messages.jsonl"

// items writes items.jsonl and sources.jsonl: each candidate of the pack, and where it comes from.
func (b *builder) items() error {
	b.cuts = map[string][]Truncation{}
	var sources []Source
	add := func(list ...Source) (ids []string) {
		for _, s := range list {
			ids = append(ids, s.SourceID)
			if !b.sources[s.SourceID] {
				b.sources[s.SourceID] = true
				sources = append(sources, s)
				b.sourceIDs = append(b.sourceIDs, s.SourceID)
			}
		}
		return ids
	}
	for i := range b.in.Pack.Items {
		it, src, err := b.selected(&b.in.Pack.Items[i])
		if err != nil {
			return err
		}
		it.SourceRefs = add(src...)
		b.all = append(b.all, it)
		b.chosen = append(b.chosen, it.ItemID)
	}
	for i := range b.in.Pack.Omitted {
		o := &b.in.Pack.Omitted[i]
		of := b.cutOf(o)
		it := b.omitted(o, of)
		it.SourceRefs = add(b.rangeSource(o.Source, o.Range, o.Digest, o.Path))
		b.all = append(b.all, it)
		b.out = append(b.out, omission(it.ItemID, o.Reason))
		if of != "" {
			b.cuts[of] = append(b.cuts[of], Truncation{ItemRef: it.ItemID, Of: of, Tokens: o.Tokens, Guess: o.Estimated, Method: "truncate_middle", Path: o.Path})
		}
	}
	for _, s := range b.in.Pack.Inputs { // what the pack is a function of, whether or not it is shown
		add(b.inputSource(s))
	}
	b.files["sources.jsonl"] = lines(sources)
	return nil
}

// itemID names an item of this session: by its records, its note (one file may pin several things), or as what was cut of it.
func (b *builder) itemID(kind, source, part string) string {
	return ItemID(b.in.Session.ID, kind, source, part)
}

func (b *builder) idOf(p *pack.Item) string { return b.itemID(p.Kind, p.Source, p.Range+p.Note) }

// selected gives a part of the pack as an item, with its sources: of records the whole range, then each.
func (b *builder) selected(p *pack.Item) (Item, []Source, error) {
	it := Item{
		ItemID: b.idOf(p), Kind: contextKind(p.Kind), Title: title(p.Kind, p.Source, p.Range), Mode: mode(p.Kind),
		ContentRef: b.in.File, MimeType: mimeType(p.Source), Tokens: p.Tokens, Bytes: p.End - p.Start, RedactionState: "none", Visibility: b.targets(p.Kind),
		Trust: trust(p.Kind, p.Source, b.in.Input.Authored), Priority: p.Score,
		Metadata: map[string]any{"kind": p.Kind, "source": p.Source, "score_parts": p.Parts, "selected": true},
	}
	maps.Copy(it.Metadata, p.Fields())
	if p.Path != "" {
		it.Metadata["path"] = p.Path
	}
	if p.Cut {
		it.Metadata["cut"] = true
	}
	if p.Note != "" {
		it.Metadata["note"] = p.Note
	}
	r, err := swap.ParseRange(p.Range)
	if p.Source != messages || err != nil {
		return it, []Source{b.rangeSource(p.Source, p.Range, p.Digest, p.Path)}, nil
	}
	it.Metadata["range"] = p.Range
	return b.records(it, r, p.Digest)
}

// records adds what is known of the records of an item.
func (b *builder) records(it Item, r swap.Range, hash pack.Digest) (Item, []Source, error) {
	whole := b.rangeSource(messages, r.String(), hash, swap.OpenPath(r.Ref()))
	first, err := b.in.Input.History.Record(r.A)
	if err != nil && !errors.Is(err, record.ErrNotObject) {
		return it, nil, err
	}
	from, to := first.Off, first.Off
	var each []Source
	var known []map[string]any
	for n := r.A; n <= r.B; n++ {
		raw, err := b.in.Input.History.Raw(n)
		if err != nil {
			return it, nil, err
		}
		rec, err := record.Parse(raw, n, to)
		to += int64(len(raw))
		if err != nil {
			continue // a bad line is accounted for by itself
		}
		ids := record.ParseIDs(raw)
		b.hide(&rec, &ids)
		if !rec.Time.IsZero() {
			at := stamp(rec.Time)
			it.Freshness, it.CreatedAt = &Freshness{at}, at
		}
		each = append(each, b.recordSource(&rec, raw, &ids))
		known = append(known, b.correlated(&rec, &ids))
		if r.A == r.B && rec.IsUser() {
			it.Kind, it.Title = "user_message", "message of the user, record "+r.String()
		}
	}
	if to > from {
		whole.Selectors = append(whole.Selectors, bytesOf(from, to))
	}
	it.Metadata["records"] = known
	return it, append([]Source{whole}, each...), nil
}

// omitted gives what is left out as an item; of is the item of which it is a part that was cut.
func (b *builder) omitted(o *pack.Omitted, of string) Item {
	it := Item{
		ItemID: b.itemID(o.Kind, o.Source, o.Range+of), Kind: contextKind(o.Kind), Title: title(o.Kind, o.Source, o.Range), Mode: mode(o.Kind),
		ContentRef: o.Path, MimeType: mimeType(o.Source), Tokens: o.Tokens, RedactionState: "none", Visibility: b.targets(o.Kind),
		Trust: trust(o.Kind, o.Source, b.in.Input.Authored), Priority: o.Score,
		Metadata: map[string]any{"kind": o.Kind, "source": o.Source, "score_parts": o.Parts, "selected": false, "path": o.Path},
	}
	maps.Copy(it.Metadata, o.Fields())
	if o.Range != "" {
		it.Metadata["range"] = o.Range
	}
	if o.Estimated {
		it.Metadata["tokens_estimated"] = true
	}
	return it
}

// cutOf is the selected item of which o is a part that was cut, "" when it is none.
func (b *builder) cutOf(o *pack.Omitted) string { return cutOf(b.in.Session.ID, b.in.Pack, o) }

// OmittedID names what a pack leaves out, as ItemID does what it shows.
func OmittedID(session string, p *pack.Pack, o *pack.Omitted) string {
	return ItemID(session, o.Kind, o.Source, o.Range+cutOf(session, p, o))
}

func cutOf(session string, pk *pack.Pack, o *pack.Omitted) string {
	n, _, isBlock := strings.Cut(o.Range, ".")
	for i := range pk.Items {
		p := &pk.Items[i]
		if p.Source != o.Source || !p.Cut {
			continue
		}
		if o.Source != messages {
			return ItemID(session, p.Kind, p.Source, p.Range+p.Note)
		}
		at, err1 := swap.ParseRange(n)
		r, err2 := swap.ParseRange(p.Range)
		if isBlock && err1 == nil && err2 == nil && r.A <= at.A && at.A <= r.B {
			return ItemID(session, p.Kind, p.Source, p.Range+p.Note)
		}
	}
	return ""
}
