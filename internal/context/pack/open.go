package pack

import (
	"strconv"
	"strings"

	"ctxfs/internal/record"
	"ctxfs/internal/swap"
)

// Open gives what context/swap/open/<name> shows: the exact lines of messages:12 or messages:12-18, the text of one
// block as messages:12.2, or what the chunk with that id refers to. It tells whether there is such a thing.
func (w *Workset) Open(h record.History, name string) ([]byte, bool, error) {
	if isID(name) {
		return w.openID(h, name)
	}
	rest, ok := strings.CutPrefix(name, "messages:")
	if !ok {
		return nil, false, nil
	}
	if rec, block, ok := strings.Cut(rest, "."); ok {
		n, errN := strconv.Atoi(rec)
		k, errK := strconv.Atoi(block)
		if errN != nil || errK != nil || swap.BlockRef(n, k) != name {
			return nil, false, nil
		}
		return w.openBlock(h, n, k)
	}
	r, err := swap.ParseRange(rest)
	if err != nil || r.B > w.Len() || r.Ref() != name {
		return nil, false, nil
	}
	return w.openRange(h, r)
}

func (w *Workset) openRange(h record.History, r swap.Range) ([]byte, bool, error) {
	var out []byte
	for n := r.A; n <= r.B; n++ {
		raw, err := h.Raw(n)
		if err != nil {
			return nil, false, err
		}
		out = append(out, raw...)
	}
	return out, true, nil
}

// openBlock gives the decoded text of block k of record n: a call's arguments, a result's output, words.
func (w *Workset) openBlock(h record.History, n, k int) ([]byte, bool, error) {
	if n < 1 || n > w.Len() || w.isBad(n) {
		return nil, false, nil
	}
	r, err := h.Record(n)
	if err != nil {
		return nil, false, err
	}
	if plain(&r) && k == 1 {
		return w.openRange(h, swap.Range{A: n, B: n})
	}
	if k < 1 || k > len(r.Blocks) {
		return nil, false, nil
	}
	return []byte(blockText(&r.Blocks[k-1])), true, nil
}

func blockText(b *record.Block) string {
	switch b.Kind {
	case record.ToolUse:
		return b.Input
	case record.Image:
		return b.Placeholder() + "\n"
	}
	return b.Text
}

func (w *Workset) openID(h record.History, id string) ([]byte, bool, error) {
	defer w.exact.readFrom(h)()
	if r, ok := w.chunk(id); ok {
		return w.openRange(h, r)
	}
	for n := 1; n <= w.Len(); n++ {
		for k, m := range w.guessed(n) {
			if !w.isLargeOutput(n, k+1, m) {
				continue
			}
			text, ok, err := w.openBlock(h, n, k+1)
			if err != nil {
				return nil, false, err
			}
			if ok && swap.BlockChunk(n, k+1, swap.Sum(text)).ID() == id {
				return text, true, nil
			}
		}
	}
	if w.exact.err != nil {
		return nil, false, w.exact.err
	}
	return w.DedupBlob(h, id)
}
