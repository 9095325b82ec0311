package compile

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"ctxfs/internal/record"
	"ctxfs/internal/swap"
)

// maxScan is how many of the newest records are read for the channels and for what stands for a claim or against it.
const maxScan = 400

// seen is a record that the target may see; at is its time, else that of the newest one before it that has one.
type seen struct {
	record.Record
	at time.Time
}

// result is a tool's answer.
type result struct {
	n, block int
	failed   bool
	text     string
}

// maxLooked is how much of a result is searched, in bytes: of its start, and of its end.
const maxLooked = 4 << 10

// scan reads the newest records.
func (b *builder) scan() error {
	h := b.in.Input.History
	var at time.Time
	for n := max(1, h.Len()-maxScan+1); n <= h.Len(); n++ {
		r, err := b.record(n)
		if err != nil {
			return err
		}
		if r == nil {
			continue
		}
		if !r.Time.IsZero() {
			at = r.Time
		}
		b.log = append(b.log, seen{*r, at})
		b.known[n] = r
		for i := range r.Blocks {
			if x := &r.Blocks[i]; x.Kind == record.ToolResult {
				b.results = append(b.results, result{n, i + 1, x.IsError, ends(x.Text)})
			}
		}
	}
	return nil
}

func ends(text string) string {
	if len(text) <= 2*maxLooked {
		return text
	}
	return text[:maxLooked] + " " + text[len(text)-maxLooked:]
}

// record returns record n without its secrets; nil when it is no record, is a child's, or is kept from the target. An error is
// one of reading.
func (b *builder) record(n int) (*record.Record, error) {
	r, err := b.in.Records.Record(n)
	if err != nil && !errors.Is(err, record.ErrNotObject) {
		return nil, err
	}
	if err != nil || r.Sidechain || r.Visibility != nil && !slices.Contains(r.Visibility, b.target()) {
		return nil, nil // a bad line is accounted for by the pack
	}
	return &r, nil
}

// cited gives the record that a reference as messages:12 or messages:12.2 names; nil when it names none, or more than the
// target may see.
func (b *builder) cited(ref string) *record.Record {
	n := refNumber(ref)
	if n < 1 || n > b.in.Input.History.Len() {
		return nil
	}
	if r, ok := b.known[n]; ok {
		return r
	}
	r, err := b.record(n)
	if err != nil && b.err == nil {
		b.err = err
	}
	b.known[n] = r
	return r
}

// refNumber is the first record that a reference names, 0 when it names none.
func refNumber(ref string) int {
	const head = "messages:"
	if len(ref) <= len(head) || ref[:len(head)] != head {
		return 0
	}
	end := len(head)
	for end < len(ref) && ref[end] >= '0' && ref[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(ref[len(head):end])
	if err != nil {
		return 0
	}
	return n
}

func msgRef(n int) string { return swap.Range{A: n, B: n}.Ref() }

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
