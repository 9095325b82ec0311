package pack

import (
	"bytes"
	"encoding/hex"
	"strings"

	"ctxfs/internal/swap"
)

// What the NAME.ref files of one pack may name: a line of a few bytes can stand for a whole log.
const (
	maxRefs     = 4096
	maxRefBytes = 64 << 20
)

// pinnedRefs reads a NAME.ref file: one reference a line. Records join the recalled ones and must be in; other things
// are shown where the file stands among the pinned ones; what does not exist is shown as missing, and so is the first reference
// that is too many.
func (b *builder) pinnedRefs(f File) []doc {
	var out []doc
	for line := range bytes.Lines(f.Data) {
		ref := string(bytes.TrimSpace(line))
		if ref == "" || strings.HasPrefix(ref, "#") {
			continue
		}
		if b.refs++; b.refs > maxRefs || b.refBytes > maxRefBytes {
			if b.refs < maxRefs+2 {
				out = append(out, b.missingRef(f, ref, "this and all after it: too much is referred to"))
			}
			b.refs = maxRefs + 2
			return out
		}
		if r, ok := b.w.rangeOf(ref); ok {
			b.forced = append(b.forced, r)
			continue
		}
		out = append(out, b.pinnedRef(f, ref))
	}
	return out
}

func (b *builder) pinnedRef(f File, ref string) doc {
	d := doc{kind: kindPinned, source: f.Path, note: clean(b.w.maskedText(ref), 120), whole: f.Data, share: b.lim / 5, scores: Scores{Floor: 1}}
	if id, ok := strings.CutPrefix(ref, "child:"); ok {
		for _, c := range b.in.Children {
			if c.ID == id {
				d.text = "child:" + id + " is shown as context/child/" + id
				return d
			}
		}
	} else if data, ok, err := b.w.Open(b.in.History, strings.TrimPrefix(ref, "swap:")); err == nil && ok {
		d.text, d.whole, d.path = string(data), data, swap.OpenPath(strings.TrimPrefix(ref, "swap:"))
		b.refBytes += len(data)
		return d
	} else if data, ok, err := b.w.DedupBlob(b.in.History, ref); err == nil && ok {
		d.text, d.whole, d.path = string(data), data, "context/dedup/blob/"+ref
		b.refBytes += len(data)
		return d
	}
	return b.missingRef(f, ref, "")
}

func (b *builder) missingRef(f File, ref, why string) doc {
	name := clean(b.w.maskedText(ref), 120)
	d := doc{kind: kindMissing, source: f.Path, note: name, whole: f.Data, share: b.lim / 5, scores: Scores{Floor: 1}}
	d.text = strings.TrimSpace("missing context: " + name + " " + why)
	return d
}

// rangeOf gives the records that a reference names: messages:12-18, or the id of a chunk of records.
func (w *Workset) rangeOf(ref string) (swap.Range, bool) {
	if strings.HasPrefix(ref, "messages:") {
		r, err := swap.ParseRange(ref)
		return r, err == nil && r.B <= w.Len()
	}
	if id := strings.TrimPrefix(ref, "swap:"); isID(id) {
		return w.chunk(id)
	}
	return swap.Range{}, false
}

// isID tells whether s has the form of a content id.
func isID(s string) bool {
	h, ok := strings.CutPrefix(s, "blake3-")
	if !ok {
		h, ok = strings.CutPrefix(s, "sha256-")
	}
	raw, err := hex.DecodeString(h)
	return ok && err == nil && len(raw) == 32
}
