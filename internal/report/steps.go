package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"ctxfs/internal/record"
)

// Step is the window at one record of the log.
type Step struct {
	At      int // the record; all before it, and it, count
	Who     string
	Said    string // how it begins
	Time    time.Time
	Pack    Pack
	Entered []Change
	Left    []Change
	// ToolBytes are those of tool outputs in the log up to here; ToolShown about how many of them the pack has.
	ToolBytes, ToolShown int64
}

// Change is something that entered or left the window.
type Change struct {
	What    string // records 12-18, or a file
	Kind    string
	Why     string
	Records int
}

// shown is what one pack shows: records by number, files by name.
type shown struct {
	records map[int]*Part
	files   map[string]*Part
}

func show(p *Pack) shown {
	s := shown{map[int]*Part{}, map[string]*Part{}}
	for i := range p.Items {
		it := &p.Items[i]
		first, last, ok := it.records()
		if !ok {
			s.files[it.Source] = it
			continue
		}
		for n := first; n <= last; n++ {
			s.records[n] = it
		}
	}
	return s
}

// reasons tells why each record is out of a pack that names it.
func reasons(p *Pack) map[int]string {
	out := map[int]string{}
	for i := range p.Omitted {
		if first, last, ok := p.Omitted[i].records(); ok {
			for n := first; n <= last; n++ {
				out[n] = p.Omitted[i].Reason
			}
		}
	}
	return out
}

// diff tells what entered and what left from one pack to the next.
func diff(was, now *Pack) (entered, left []Change) {
	a, b := show(was), show(now)
	out := reasons(now)
	entered = ranges(missing(b.records, a.records), func(n int) (kind, why string) { return kindInWords(b.records[n].Kind), b.records[n].why() })
	left = ranges(missing(a.records, b.records), func(n int) (kind, why string) { return kindInWords(a.records[n].Kind), whyOut(out[n]) })
	for _, name := range slices.Sorted(maps.Keys(b.files)) {
		it := b.files[name]
		old := a.files[name]
		switch {
		case old == nil:
			entered = append(entered, Change{What: name, Kind: kindInWords(it.Kind), Why: it.why()})
		case old.digest() != it.digest():
			entered = append(entered, Change{What: name, Kind: kindInWords(it.Kind), Why: "it changed"})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.files)) {
		if b.files[name] == nil {
			left = append(left, Change{What: name, Kind: kindInWords(a.files[name].Kind), Why: whyOut(fileReason(now, name))})
		}
	}
	return entered, left
}

func fileReason(p *Pack, name string) string {
	for i := range p.Omitted {
		if p.Omitted[i].Source == name {
			return p.Omitted[i].Reason
		}
	}
	return "missing_context"
}

// missing gives the records that are in a and not in b, in order.
func missing(a, b map[int]*Part) (out []int) {
	for n := range a {
		if b[n] == nil {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// ranges joins neighbours that are of one kind, for one reason.
func ranges(numbers []int, about func(n int) (kind, why string)) (out []Change) {
	first := 0
	for i, n := range numbers {
		kind, why := about(n)
		if len(out) > 0 && n == numbers[i-1]+1 && out[len(out)-1].Kind == kind && out[len(out)-1].Why == why {
			c := &out[len(out)-1]
			c.What, c.Records = fmt.Sprintf("records %d–%d", first, n), c.Records+1
			continue
		}
		first = n
		out = append(out, Change{What: fmt.Sprintf("record %d", n), Kind: kind, Why: why, Records: 1})
	}
	slices.SortStableFunc(out, func(a, b Change) int { return cmp.Compare(b.Records, a.Records) })
	return out
}

// Pick chooses the records at which the window is looked at: every request of the user's and the end, and so many others between, evenly,
// that there are at most most; 0 records: none.
func Pick(log *record.Memory, most int) ([]int, error) {
	var requests []int
	for n := 1; n <= log.Len(); n++ {
		r, err := log.Record(n)
		if err != nil {
			return nil, err
		}
		if r.IsUser() {
			requests = append(requests, n)
		}
	}
	at := map[int]bool{}
	for _, n := range thin(requests, most) {
		at[n] = true
	}
	if n := log.Len(); n > 0 {
		at[n] = true
	}
	for i, spare := 1, most-len(at); i <= spare; i++ {
		if n := log.Len() * i / (spare + 1); n > 0 {
			at[n] = true
		}
	}
	return slices.Sorted(maps.Keys(at)), nil
}

// thin leaves at most so many of the numbers, evenly.
func thin(numbers []int, most int) []int {
	if len(numbers) < most {
		return numbers
	}
	var out []int
	for i := range max(0, most-1) {
		out = append(out, numbers[len(numbers)*i/(most-1)])
	}
	return out
}
