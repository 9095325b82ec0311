package pack

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sort"
	"strings"

	"ctxfs/internal/context/derive"
	"ctxfs/internal/context/recall"
	"ctxfs/internal/dedup"
	"ctxfs/internal/record"
	"ctxfs/internal/swap"
)

func sortRanges(r []swap.Range) { sort.Slice(r, func(i, j int) bool { return r[i].A < r[j].A }) }

func excerptLine(text string, size int) string {
	return strings.Join(strings.Fields(derive.Excerpt(text, size)), " ")
}

// dedupRow is a line of dedup/index.jsonl.
type dedupRow struct {
	Hash   string   `json:"hash"`
	Refs   []string `json:"refs"`
	Bytes  int      `json:"bytes"`
	Tokens int      `json:"tokens"`
}

// DedupIndex gives dedup/index.jsonl: the texts that stand in two places or more.
func (w *Workset) DedupIndex() []byte {
	var out bytes.Buffer
	for _, e := range w.repeats.Entries() {
		row := dedupRow{Hash: e.ID(), Bytes: e.Bytes, Tokens: e.Tokens}
		for _, p := range e.Places {
			row.Refs = append(row.Refs, swap.BlockRef(int(p.Rec), int(p.Block)))
		}
		out.Write(swap.Line(row))
	}
	return out.Bytes()
}

// DedupIDs lists the names in dedup/blob.
func (w *Workset) DedupIDs() []string {
	var ids []string
	for _, e := range w.repeats.Entries() {
		ids = append(ids, e.ID())
	}
	return ids
}

// DedupBlob gives the text with that id, by its BLAKE3 name or, on reading, by its SHA-256 one.
func (w *Workset) DedupBlob(h record.History, id string) ([]byte, bool, error) {
	if !isID(id) {
		return nil, false, nil
	}
	sum, _ := hex.DecodeString(id[len("blake3-"):]) // isID has checked it
	if strings.HasPrefix(id, "blake3-") {
		e, ok := w.repeats.Find([32]byte(sum))
		if !ok {
			return nil, false, nil
		}
		return w.blob(h, e)
	}
	for _, e := range w.repeats.Entries() {
		data, ok, err := w.blob(h, e)
		if err != nil {
			return nil, false, err
		}
		if s := sha256.Sum256(data); ok && bytes.Equal(s[:], sum) {
			return data, true, nil
		}
	}
	return nil, false, nil
}

// blob reads a repeated text from the first place that still has it.
func (w *Workset) blob(h record.History, e dedup.Entry) ([]byte, bool, error) {
	for _, p := range e.Places {
		data, ok, err := w.openBlock(h, int(p.Rec), int(p.Block))
		if err != nil {
			return nil, false, err
		}
		if ok && swap.Sum(data) == e.Hash {
			return data, true, nil
		}
	}
	return nil, false, nil
}

// recallLimit is the most tokens that one block takes in an answer of Recall.
const recallLimit = 400

// Recall answers a query from the whole log: the best records with their numbers and times, best first, in at most
// budget tokens. Each is whole, with long blocks cut to recallLimit tokens; matches that do not fit are listed at the end.
func (w *Workset) Recall(in Input, query string, budget int) ([]byte, error) {
	w.exact.readFrom(in.History)
	hits := w.index.Rank(query, w.Len(), maxHits, in.Without)
	head := "# Recall: " + clean(w.maskedText(query), 200) + "\n\n"
	if len(hits) == 0 {
		return []byte(w.within(head+"No record matches.\n", budget)), nil
	}
	limit := min(recallLimit, budget/3)
	f := flow{w: w, h: in.History, limit: func(int, int) int { return limit }, stand: func(int, int) int { return 0 }, query: query, cache: map[int]*record.Record{}}
	text, room := head, true
	var rest []int
	for _, h := range hits {
		if !room {
			rest = append(rest, h.N)
			continue
		}
		group := append(w.partners(h.N), h.N)
		sort.Ints(group)
		f.in = func(n int) bool { i := sort.SearchInts(group, n); return i < len(group) && group[i] == n }
		s, err := w.recalled(&f, group, h)
		if err != nil {
			return nil, fmt.Errorf("recall: %w", err)
		}
		if w.tok.Count(text+s) <= budget-min(maxRest, budget/3) {
			text += s
		} else {
			rest = append(rest, h.N)
		}
		room = w.tok.Count(text) <= budget*9/10
	}
	return []byte(w.within(w.withRest(text, rest, budget), budget)), w.exact.err
}

// maxRest is how many tokens of an answer of Recall are kept free for the list of matches that do not fit.
const maxRest = 80

// withRest adds the list of matching records that are not in text: as many as fit into budget tokens.
func (w *Workset) withRest(text string, rest []int, budget int) string {
	if len(rest) == 0 {
		return text
	}
	first := swap.Range{A: rest[0], B: rest[0]}.Ref()
	list, full := "", ""
	for i, n := range rest {
		list += ", " + swap.Range{A: n, B: n}.Ref()
		more := ""
		if left := len(rest) - i - 1; left > 0 {
			more = fmt.Sprintf(" and %d more", left)
		}
		s := fmt.Sprintf("%s## %d more records match\n\n%s%s: cat %s\n", text, len(rest), list[2:], more, swap.OpenPath(first))
		if w.tok.Count(s) > budget {
			break
		}
		full = s
	}
	return cmp.Or(full, text)
}

func (w *Workset) recalled(f *flow, group []int, h recall.Hit) (string, error) {
	p := page{w: w}
	var shown []shownRecord
	for i, n := range group {
		if i > 0 && group[i-1] == n {
			continue
		}
		f.last = f.last.Add(-2 * quiet) // each answer shows its time
		s, err := f.record(n)
		if err != nil {
			return "", err
		}
		shown = append(shown, s)
	}
	p.messages(fmt.Sprintf("%s, score %.2f", swap.Range{A: h.N, B: h.N}.Ref(), h.Score), shown)
	return string(p.out), nil
}

// within cuts text to budget tokens.
func (w *Workset) within(text string, budget int) string {
	if w.tok.Count(text) <= budget {
		return text
	}
	n, _ := w.tok.Prefix(text, max(budget, 0))
	return text[:n]
}
