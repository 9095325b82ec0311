package pack

import (
	"slices"
	"strings"

	"ctxfs/internal/context/derive"
	"ctxfs/internal/swap"
)

// doc is a candidate that is a file's text.
type doc struct {
	kind, source, note string
	text               string
	path               string // where it can be read whole
	whole              []byte // what stands there, when it is not text; its hash accounts for both
	share              int    // most tokens that it may take
	least              int    // with fewer it is left out rather than cut
	scores             Scores
	masked             []Masked // secrets that are not in text any more
	asOf               int      // of a derived file: the records that it is made of; 0: text is what stands at path
	hidden             bool     // it may say what the target must not see
}

// fixedDocs are the candidates that do not depend on the log: pinned files, children, what the agent wrote.
func (b *builder) fixedDocs() []doc {
	var out []doc
	for _, f := range b.in.Pinned {
		if strings.HasSuffix(f.Path, ".ref") {
			out = append(out, b.pinnedRefs(f)...)
			continue
		}
		out = append(out, doc{kind: kindSystem, source: f.Path, text: string(f.Data), share: b.lim * 2 / 5, scores: Scores{Floor: 1}})
	}
	for _, f := range b.in.Imported {
		out = append(out, doc{kind: kindImported, source: f.Path, text: string(f.Data), whole: b.w.readable(f), share: b.lim / 6, scores: Scores{Authority: 0.7}})
	}
	out = append(out, b.childrenDocs(b.in.Children, b.lim/4)...)
	a := b.in.Authored
	for _, x := range []struct {
		kind string
		file derive.Kind
		data []byte
	}{{kindSummary, derive.Summary, a.Summary}, {kindFacts, derive.Facts, a.Facts}, {kindDecisions, derive.Decisions, a.Decisions},
		{kindTodo, derive.Todo, a.Todo}, {kindRefs, derive.Refs, a.Refs}} {
		if x.data != nil {
			out = append(out, doc{kind: x.kind, source: "context/" + string(x.file), text: string(x.data), share: b.lim / 8, scores: Scores{Authority: 0.8}})
		}
	}
	return out
}

// childrenDocs returns what children have to say, in all at most total tokens: each has an equal share, at most half of them. Where that
// is too little for a text, the first have it.
func (b *builder) childrenDocs(children []Child, total int) []doc {
	said := slices.DeleteFunc(slices.Clone(children), func(c Child) bool { return c.Result == nil && c.Handoff == nil })
	share := min(total/2, max(total/max(len(said), 1), 2*minDoc))
	var out []doc
	for i, c := range said {
		if (i+1)*share > total {
			share = 0
		}
		out = append(out, b.childDoc(c, share))
	}
	return out
}

func (b *builder) childDoc(c Child, share int) doc {
	note := "status " + clean(strings.TrimSpace(b.w.maskedText(c.Status)), 32)
	dir := "context/child/" + c.ID + "/"
	if c.Result == nil {
		return doc{kind: kindChild, source: dir + "handoff.md", note: note, text: string(c.Handoff), share: share / 2, scores: Scores{Authority: 0.5}}
	}
	return doc{kind: kindChild, source: dir + "result.md", note: note, text: string(c.Result), share: share, scores: Scores{Authority: 0.9}}
}

// derivedDocs are what the first upTo records say, for a pack that does not show them all.
func (b *builder) derivedDocs(upTo int) ([]doc, error) {
	a := b.in.Authored
	var out []doc
	add := func(kind string, file derive.Kind, authored, text []byte, div, least int, score float64) {
		if authored == nil && len(text) > 0 {
			share := b.lim / b.docDivisor(div)
			if b.in.Query == "" {
				share = max(share, smallDoc)
			}
			shown, masked := b.w.maskedDoc(string(text))
			out = append(out, doc{kind: kind, source: "context/" + string(file), text: shown, share: share, least: least, scores: Scores{Authority: score}, masked: masked, asOf: upTo,
				hidden: b.w.hidesAny(upTo, b.in.target())})
		}
	}
	text, err := b.w.derivedText(b.in.History, upTo)
	if err != nil {
		return nil, err
	}
	// Rules and choices first: they are short, and what breaks them is wrong however it is done.
	add(kindFacts, derive.Facts, a.Facts, text.facts, 20, 0, 0.6)
	add(kindDecisions, derive.Decisions, a.Decisions, text.decisions, 24, 0, 0.5)
	add(kindTodo, derive.Todo, a.Todo, b.w.derived.Todo(upTo), 24, 0, 0.5)
	add(kindSummary, derive.Summary, a.Summary, text.summary, 12, minSummary, 0.4)
	add(kindRefs, derive.Refs, a.Refs, text.refs, 30, 0, 0.3)
	return out, nil
}

// packedRefs is how many files the refs in a pack list; context/refs.jsonl lists all.
const packedRefs = 30

// docDivisor gives derived files a smaller share when a question was asked: its answer stands in the records.
func (b *builder) docDivisor(n int) int {
	if b.in.Query != "" {
		return 1000 * n
	}
	return n
}

const (
	smallDoc   = 90  // tokens that a derived file may take under any budget, while all of them leave room
	minSummary = 150 // less of a summary says nothing
)

// minDoc is the least share, in tokens, with which a file is worth its heading.
const minDoc = 40

// place writes docs into the page, each within its share and all within room, and accounts for them.
func (b *builder) place(docs []doc, room int) (used int) {
	for _, d := range docs {
		n := b.placeOne(d, min(d.share, room-used))
		used += n
	}
	return used
}

// sumOf is the hash of what many docs in a row may share: thousands of references that stand in one file.
func (b *builder) sumOf(whole []byte) string {
	if len(whole) == 0 || len(whole) != len(b.summed) || &whole[0] != &b.summed[0] {
		b.summed, b.sum = whole, swap.Sum(whole).String()
	}
	return b.sum
}

func (b *builder) placeOne(d doc, share int) int {
	if d.path == "" {
		d.path = d.source
	}
	t := b.w.docText(d.text)
	hash, total := Digest{Hash: t.hash}, t.total
	switch {
	case d.asOf > 0:
		hash = Digest{AsOf: t.hash, Records: d.asOf}
	case d.whole != nil:
		hash.Hash = b.sumOf(d.whole)
	}
	if d.hidden || !b.in.sees(d.kind) {
		b.omitFile(d, hash, total, outHidden)
		return 0
	}
	title := d.kind + ": " + clean(d.source, 200)
	if d.note != "" {
		title += " (" + d.note + ")"
	}
	overhead := b.w.countShown(docSection(title, ""))
	if share < minDoc || share < min(d.least, total) || share <= overhead+8 && total > 8 {
		b.omitFile(d, hash, total, outBudget)
		return 0
	}
	b.w.show(t, d.text)
	text, size, kept := t.shown, t.size, t.size
	masked := addMasked(slices.Clone(t.masked), d.masked)
	if size > share-overhead {
		text, kept = b.w.cut(t, share-overhead, d.path)
	}
	if text == "" && size > 0 {
		b.omitFile(d, hash, size, outLarge)
		return 0
	}
	start := len(b.page.out)
	n := b.page.doc(title, text)
	b.items = append(b.items, Item{Start: start, End: len(b.page.out), Kind: d.kind, Source: d.source, Tokens: n, Digest: hash, Score: d.scores.sum(), Parts: d.scores, Cut: kept < size, Path: d.path, Note: d.note, Masked: masked})
	if kept < size {
		b.omitFile(d, hash, size-kept, outLarge)
	}
	return n
}

// omitFile lists d, or what is cut of it.
func (b *builder) omitFile(d doc, hash Digest, tokens int, reason string) {
	b.omitted = append(b.omitted, Omitted{Kind: d.kind, Source: d.source, Tokens: tokens, Digest: hash, Score: d.scores.sum(), Parts: d.scores, Reason: reason, Path: d.path})
}

// cutFile cuts a file's text to limit tokens, its own mark included: between lines, and in a file of JSON lines always so.
func (w *Workset) cutFile(text string, total, limit int, path string) (string, int) {
	jsonl := strings.HasSuffix(path, ".jsonl")
	mark := "[... cut: cat " + path + "]\n"
	limit = max(limit-w.tok.Count(mark)-4, 0)
	n, _ := w.tok.Prefix(text, limit*3/4)
	head := text[:n]
	if i := strings.LastIndexByte(head, '\n') + 1; jsonl || i > n*3/4 {
		head = head[:i]
	} else {
		head += "\n"
	}
	a := w.tok.Count(head)
	n, c := w.tok.Suffix(text[n:], limit-a)
	tail := text[len(text)-n:]
	if i := strings.IndexByte(tail, '\n') + 1; jsonl || i > 0 && i < n/2 {
		tail = tail[i:]
		c = w.tok.Count(tail)
	}
	if jsonl && head+tail == "" {
		return "", 0
	}
	return head + mark + tail, min(a+c, total-1)
}
