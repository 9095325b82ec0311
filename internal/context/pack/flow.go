package pack

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"ctxfs/internal/dedup"
	"ctxfs/internal/record"
	"ctxfs/internal/swap"
)

// flow writes records as text, in the order of the log.
type flow struct {
	w          *Workset
	h          record.History
	limit      func(n, k int) int // tokens that block k of record n may take
	stand      func(n, k int) int // the later record that stands in for a superseded block, 0 when there is none in the pack
	in         set
	cache      map[int]*record.Record
	query      string                 // cut blocks show the part that matches it; "": their start and end
	last       time.Time              // of the record shown last
	target     string                 // whom it is for
	noThinking bool                   // who must not see reasoning
	noStartup  bool                   // nor instructions
	whole      map[dedup.Place]string // tool outputs that were written whole, as they were; nil: of no use
}

// shownRecord is a record as a pack shows it.
type shownRecord struct {
	n      int
	text   string // ends in '\n'; empty when nothing of the record is shown
	tokens int
	out    []Omitted // its blocks that are cut or left out
	start  int       // where text stands in the page, once it is written
	end    int
}

func (f *flow) load(n int) (*record.Record, error) {
	if r := f.cache[n]; r != nil {
		return r, nil
	}
	r := f.w.loaded[n]
	if r == nil {
		var err error
		if r, err = f.w.load(f.h, n); err != nil {
			return nil, err
		}
	}
	f.cache[n] = r
	return r, nil
}

// record writes record n.
func (f *flow) record(n int) (shownRecord, error) {
	s := shownRecord{n: n}
	if f.w.skips(n, f.noStartup) {
		return s, nil
	}
	r, err := f.load(n)
	if err != nil {
		return s, err
	}
	var out strings.Builder
	for i := range r.Blocks {
		if f.w.split(f.in, n, i+1) {
			s.out = append(s.out, f.leftOut(r, i, f.w.tokensOf(n, i+1), outPair))
			continue
		}
		if f.keeps(r, i) {
			s.out = append(s.out, f.leftOut(r, i, f.w.tokensOf(n, i+1), outHidden))
			continue
		}
		mark, err := f.marker(r, i, out.Len() == 0)
		if err != nil {
			return s, err
		}
		out.WriteString(mark)
		f.block(&out, &s, r, i)
	}
	s.text = out.String()
	s.tokens = f.w.countShown(s.text)
	return s, nil
}

// block writes the text of block i, cut when it is over the limit.
func (f *flow) block(out *strings.Builder, s *shownRecord, r *record.Record, i int) {
	text, total := shown(&r.Blocks[i]), f.w.tokensOf(r.N, i+1)
	ref := swap.BlockRef(r.N, i+1)
	limit := f.limit(r.N, i+1)
	if by := f.stand(r.N, i+1); limit == superseded && by > 0 && total > cutMarker {
		s.out = append(s.out, f.leftOut(r, i, total, outStale))
		fmt.Fprintf(out, "[... %d tokens, newer in %d: cat %s]\n", total, by, swap.OpenPath(ref))
		return
	}
	short, kept, ok := f.near(r, i, text, total, limit)
	reason := outDuplicate
	if !ok {
		short, kept, ok = f.focused(text, total, limit, ref)
		reason = outLarge
	}
	if !ok {
		short, kept = f.w.cutText(text, total, limit, ref)
	}
	if kept < total {
		s.out = append(s.out, f.leftOut(r, i, total-kept, reason))
	} else {
		short = guard(short)
		f.stands(r, i, short)
	}
	if short == "" {
		return
	}
	out.WriteString(short)
	if !strings.HasSuffix(short, "\n") {
		out.WriteByte('\n')
	}
}

func (f *flow) leftOut(r *record.Record, i, tokens int, reason string) Omitted {
	ref := swap.BlockRef(r.N, i+1)
	if len(f.w.secrets[r.N]) > 0 { // the hash is of what stands at its path
		if whole, err := load(f.h, r.N); err == nil {
			r = whole
		} else if f.w.exact.err == nil {
			f.w.exact.err = err
		}
	}
	return Omitted{Kind: kindPart, Source: messagesFile, Range: strings.TrimPrefix(ref, "messages:"), Tokens: tokens,
		Digest: hashOf([]byte(blockText(&r.Blocks[i]))), Reason: reason, Path: swap.OpenPath(ref)}
}

// marker returns the line before a block: "[12 user ann, 2026-01-02 10:00]", "[12.2 call Bash]", "[13 tool, result of 12.2]",
// "[14 assistant, incomplete]".
func (f *flow) marker(r *record.Record, i int, first bool) (string, error) {
	id := strconv.Itoa(r.N)
	if i > 0 || len(r.Blocks) > 1 && !first {
		id += "." + strconv.Itoa(i+1)
	}
	answers, err := f.answers(r.N, i+1)
	if err != nil {
		return "", err
	}
	kind := what(&r.Blocks[i], answers)
	if !first {
		return "[" + id + " " + orText(kind) + "]\n", nil
	}
	mark := "[" + id + " " + speaker(r)
	if r.Incomplete {
		mark += ", incomplete"
	}
	if kind != "" {
		mark += ", " + kind
	}
	return mark + f.when(r.Time) + "]\n", nil
}

func orText(kind string) string {
	if kind == "" {
		return "text"
	}
	return kind
}

// answers names the call that block k of record n answers.
func (f *flow) answers(n, k int) (string, error) {
	for _, p := range f.w.linksTo(n) {
		if int(p.rblock) == k {
			r, err := f.load(int(p.call))
			if err != nil {
				return "", err
			}
			return callName(r, int(p.cblock)), nil
		}
	}
	return "an unknown call", nil
}

func callName(r *record.Record, k int) string {
	if len(r.Blocks) == 1 {
		return strconv.Itoa(r.N)
	}
	return strconv.Itoa(r.N) + "." + strconv.Itoa(k)
}

// quiet is the time without a word after which the next record shows its time again.
const quiet = 30 * time.Minute

// when shows the time of a record when it is news: the first, another day, or after a pause.
func (f *flow) when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	d := t.Sub(f.last)
	if !f.last.IsZero() && d < quiet && d > -quiet && t.YearDay() == f.last.YearDay() {
		return ""
	}
	f.last = t
	return t.Format(", 2006-01-02 15:04")
}
