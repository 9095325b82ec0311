package pack

import (
	"sort"

	"ctxfs/internal/context/derive"
	"ctxfs/internal/record"
)

// laterRequests is how many of the newest user messages a summary quotes, beside the first.
const laterRequests = 6

// summary writes summary.md of the first upTo records.
func (w *Workset) summary(h record.History, upTo int) ([]byte, error) {
	d := derive.Digest{Records: upTo, Users: countUpTo(w.users, upTo)}
	if upTo == 0 {
		return nil, nil
	}
	var err error
	said := func(n int) derive.Said {
		r, e := w.Masked(h).Record(n)
		if e != nil && !w.isBad(n) {
			err = e
		}
		return derive.Said{N: n, Time: r.Time, Text: scrub(r.Words())}
	}
	if first, last := said(1), said(upTo); !first.Time.IsZero() && !last.Time.IsZero() {
		d.First, d.Last = first, last
	}
	for i := 0; i < d.Users; i++ {
		if i > 0 && i < d.Users-laterRequests {
			i = d.Users - laterRequests
		}
		d.Requests = append(d.Requests, said(int(w.users[i])))
	}
	if k := countUpTo(w.compact, upTo); k > 0 {
		d.Compactions = append(d.Compactions, said(int(w.compact[k-1])))
	}
	return d.Markdown(), err
}

// countUpTo is how many of the sorted record numbers are upTo at most.
func countUpTo(list []uint32, upTo int) int {
	return sort.Search(len(list), func(i int) bool { return int(list[i]) > upTo })
}

// Derived gives a derived file as of the whole log.
func (w *Workset) Derived(h record.History, kind derive.Kind) ([]byte, error) {
	var data []byte
	switch kind {
	case derive.Summary:
		return w.summary(h, w.Len())
	case derive.Facts:
		data = w.derived.Facts(w.Len())
	case derive.Decisions:
		data = w.derived.Decisions(w.Len())
	case derive.Todo:
		data = w.derived.Todo(w.Len())
	default:
		data = w.derived.Refs(w.Len())
	}
	return []byte(w.maskedText(string(data))), nil
}
