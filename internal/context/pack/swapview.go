package pack

import (
	"fmt"

	"ctxfs/internal/record"
	"ctxfs/internal/swap"
)

// largeOutput is the size, in tokens, from which a tool's output is listed in swap/index.jsonl by itself.
const largeOutput = 2000

// isLargeOutput tells whether block k of record n, with the guess m, is one. No guess is off by half.
func (w *Workset) isLargeOutput(n, k int, m blockMeta) bool {
	return m.kind() == record.ToolResult && m.tokens() >= largeOutput/2 && w.tokensOf(n, k) >= largeOutput
}

// swapped is a row of the index with the chunk that it names.
type swapped struct {
	row   swap.Row
	chunk swap.Chunk
}

// SwapIndex gives swap/index.jsonl, which lists what the pack at this budget leaves out, and the ids of its chunks.
// A run of records is listed as aligned ranges, so its rows stay the same while the log grows.
func (w *Workset) SwapIndex(in Input) (index []byte, ids []string, err error) {
	list, err := w.swappedOut(in)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range list {
		index = append(index, swap.Line(s.row)...)
		ids = append(ids, s.row.ID)
	}
	return index, ids, nil
}

// SwapChunk gives swap/chunk/<id>: a reference into raw history.
func (w *Workset) SwapChunk(in Input, id string) ([]byte, bool, error) {
	list, err := w.swappedOut(in)
	if err != nil {
		return nil, false, err
	}
	for _, s := range list {
		if s.row.ID == id {
			return s.chunk.Bytes(), true, nil
		}
	}
	return nil, false, nil
}

func (w *Workset) swappedOut(in Input) ([]swapped, error) {
	p, err := w.Build(in)
	if err != nil {
		return nil, err
	}
	var covered []swap.Range
	for _, it := range p.Items {
		if r, ok := itemRange(it); ok {
			covered = append(covered, r)
		}
	}
	sortRanges(covered)
	var out []swapped
	for _, g := range gaps(covered, w.Len()) {
		for _, r := range g.Split() {
			s, err := w.swappedRange(in.History, r)
			if err != nil {
				return nil, err
			}
			out = append(out, s)
		}
	}
	outputs, err := w.swappedOutputs(in.History, p)
	return append(out, outputs...), err
}

func (w *Workset) swappedRange(h record.History, r swap.Range) (swapped, error) {
	c := swap.RangeChunk(r, w.hash(r))
	about, err := w.about(h, r)
	if err != nil {
		return swapped{}, err
	}
	return swapped{swap.Row{ID: c.ID(), Kind: "message_range", Source: messagesFile, Range: r.String(), Summary: about, Tokens: w.wholeTokens(r), Estimated: true}, c}, nil
}

// about says in a line what a range is: its first words of the user, else how it starts.
func (w *Workset) about(h record.History, r swap.Range) (string, error) {
	n := r.A
	if i := countUpTo(w.users, r.A-1); i < len(w.users) && int(w.users[i]) <= r.B {
		n = int(w.users[i])
	}
	count := fmt.Sprintf("%d records", r.Len())
	if r.Len() == 1 {
		count = "1 record"
	}
	if w.isBad(n) {
		return count + ", not readable as JSON", nil
	}
	rec, err := w.Masked(h).Record(n)
	if err != nil {
		return "", err
	}
	text := rec.Words()
	if text == "" && len(rec.Blocks) > 0 {
		text = what(&rec.Blocks[0], "a call")
	}
	return count + "; " + speaker(&rec) + ": " + excerptLine(text, 120), nil
}

// swappedOutputs lists the large outputs that the pack does not show whole.
func (w *Workset) swappedOutputs(h record.History, p *Pack) ([]swapped, error) {
	whole := p.wholeRecords()
	var out []swapped
	for n := 1; n <= w.Len(); n++ {
		for k, m := range w.guessed(n) {
			if whole[n] || !w.isLargeOutput(n, k+1, m) {
				continue
			}
			text, ok, err := w.openBlock(h, n, k+1)
			if err != nil || !ok {
				return nil, err
			}
			c := swap.BlockChunk(n, k+1, swap.Sum(text))
			out = append(out, swapped{swap.Row{ID: c.ID(), Kind: "tool_output", Source: messagesFile, Event: c.Block,
				Summary: excerptLine(scrub(w.maskedText(string(text))), 120), Tokens: w.tokensOf(n, k+1)}, c})
		}
	}
	return out, w.exact.err
}

// wholeRecords is the set of records that the pack shows whole.
func (p *Pack) wholeRecords() map[int]bool {
	whole := map[int]bool{}
	for _, it := range p.Items {
		if r, ok := itemRange(it); ok {
			for n := r.A; n <= r.B; n++ {
				whole[n] = true
			}
		}
	}
	for _, o := range p.Omitted {
		var n, k int
		if _, err := fmt.Sscanf(o.Range, "%d.%d", &n, &k); err == nil {
			delete(whole, n)
		}
	}
	return whole
}
