package pack

import (
	"hash/maphash"
	"slices"

	"ctxfs/internal/record"
	"ctxfs/internal/swap"
)

// docMemo keeps what packs showed of files: from one append to the next they mostly show the same.
type docMemo struct {
	texts map[uint64]*docText   // by the hash of the text
	masks map[uint64]maskedText // of derived files, by the hash of the text
	upTo  []derivedText         // the latest last
}

// What is kept at most: so many texts, none longer than that many bytes, and derived files as of so many records.
const (
	maxDocs    = 64
	maxDocText = 256 << 10
	maxDerived = 8
)

func newDocMemo() *docMemo {
	return &docMemo{texts: map[uint64]*docText{}, masks: map[uint64]maskedText{}}
}

// docText is a text as packs show it.
type docText struct {
	hash   string // of the text as it is
	total  int    // its tokens
	ready  bool   // what follows is known
	shown  string // without base64 and secrets
	masked []Masked
	size   int // tokens of shown
	cuts   []docCut
}

// maskedText is a text without secrets, and what they were.
type maskedText struct {
	text   string
	masked []Masked
}

// docCut is what stays of a text under a limit in tokens, and its tokens; the mark says path.
type docCut struct {
	limit int
	path  string
	text  string
	kept  int
}

// maxCuts is how many limits are remembered for a text: those of the budgets in use, and of plans made smaller.
const maxCuts = 8

// docText gives what is known of a text, and its hash and tokens.
func (w *Workset) docText(text string) *docText {
	h := maphash.String(w.seed, text)
	if t := w.docs.texts[h]; t != nil {
		return t
	}
	t := &docText{hash: swap.Sum([]byte(text)).String(), total: w.countShown(text)}
	if len(text) <= maxDocText {
		if len(w.docs.texts) >= maxDocs {
			clear(w.docs.texts)
		}
		w.docs.texts[h] = t
	}
	return t
}

// show makes what t, which is that of text, shows.
func (w *Workset) show(t *docText, text string) {
	if t.ready {
		return
	}
	t.shown, t.masked = w.masked(text) // first: what scrub leaves of a secret is not found as one
	t.shown = scrub(t.shown)
	t.size, t.ready = w.countShown(t.shown), true
}

// cut gives what stays of t under a limit.
func (w *Workset) cut(t *docText, limit int, path string) (text string, kept int) {
	for _, c := range t.cuts {
		if c.limit == limit && c.path == path {
			return c.text, c.kept
		}
	}
	text, kept = w.cutFile(t.shown, t.size, limit, path)
	if len(t.cuts) == maxCuts {
		t.cuts = slices.Delete(t.cuts, 0, 1)
	}
	t.cuts = append(t.cuts, docCut{limit, path, text, kept})
	return text, kept
}

// derivedText is what the first upTo records say, as the log says it: of these files it stays the same whatever is appended.
type derivedText struct {
	upTo                            int
	facts, decisions, summary, refs []byte
}

// derivedText gives the derived files of the first upTo records, for a pack.
func (w *Workset) derivedText(h record.History, upTo int) (derivedText, error) {
	for _, d := range w.docs.upTo {
		if d.upTo == upTo {
			return d, nil
		}
	}
	summary, err := w.summary(h, upTo)
	if err != nil {
		return derivedText{}, err
	}
	d := derivedText{upTo: upTo, facts: w.derived.Facts(upTo), decisions: w.derived.Decisions(upTo), summary: summary, refs: w.derived.LatestRefs(upTo, packedRefs)}
	if len(w.docs.upTo) == maxDerived {
		w.docs.upTo = slices.Delete(w.docs.upTo, 0, 1)
	}
	w.docs.upTo = append(w.docs.upTo, d)
	return d, nil
}

// readable returns the bytes that a reader finds at the path of an imported file: the file is masked there, too.
func (w *Workset) readable(f File) []byte {
	text, _ := w.maskedDoc(string(f.Data))
	return []byte(text)
}

// maskedDoc returns a text as its file shows it, and the masks in it: those that came with its parts, too.
func (w *Workset) maskedDoc(text string) (string, []Masked) {
	if w.mask == nil {
		return text, nil
	}
	h := maphash.String(w.seed, text)
	if m, ok := w.docs.masks[h]; ok {
		return m.text, slices.Clone(m.masked)
	}
	out, _ := w.mask(text)
	masked := w.masks(out)
	if len(text) <= maxDocText {
		if len(w.docs.masks) >= maxDocs {
			clear(w.docs.masks)
		}
		w.docs.masks[h] = maskedText{out, slices.Clone(masked)}
	}
	return out, masked
}
