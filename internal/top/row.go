package top

import (
	"cmp"
	"slices"
	"strings"

	"ctxfs/internal/session"
)

// Row is one session, as it was when it was looked at.
type Row struct {
	Session string `json:"session"` // path of its folder in the mount
	Name    string `json:"name"`    // AGENT/SESSION; the path, of another owner's
	session.Glance
	BytesPerSecond   float64 `json:"bytes_per_second"` // of messages.jsonl, since the look before
	RecordsPerSecond float64 `json:"records_per_second"`

	turn int // of the last look at it
}

// Share is how much of the budget the newest pack takes; 0 without one.
func (r *Row) Share() float64 {
	if r.Budget <= 0 {
		return 0
	}
	return float64(r.Tokens) / float64(r.Budget)
}

// About is what people know a session by: its title, else where it works.
func (r *Row) About() string { return cmp.Or(r.Title, r.CWD) }

// Order is what rows are sorted by.
type Order string

// Orders are all there are, in the order in which a key goes through them.
func Orders() []Order { return []Order{"activity", "tokens", "size", "name"} }

// Next is the order that follows o.
func (o Order) Next() Order {
	all := Orders()
	return all[(slices.Index(all, o)+1)%len(all)]
}

// compare is for sorting: what is more comes first, then what changed last.
func (o Order) compare(a, b *Row) int {
	first := 0
	switch o {
	case "activity":
		first = cmp.Compare(b.BytesPerSecond, a.BytesPerSecond)
	case "tokens":
		first = cmp.Or(cmp.Compare(b.Share(), a.Share()), cmp.Compare(b.Tokens, a.Tokens))
	case "size":
		first = cmp.Compare(b.Bytes, a.Bytes)
	case "name":
		return strings.Compare(a.Name, b.Name)
	}
	return cmp.Or(first, b.Updated.Compare(a.Updated), strings.Compare(a.Name, b.Name))
}

// has tells whether a row is about a text, whatever its case.
func (r *Row) has(text string) bool {
	for _, in := range []string{r.Session, r.State, r.CWD, r.Title, string(r.Pack)} {
		if strings.Contains(strings.ToLower(in), text) {
			return true
		}
	}
	return false
}

// Select gives the rows that a text is in, "" being in all, in order.
func Select(rows []Row, text string, by Order) []Row {
	text = strings.ToLower(text)
	var out []Row
	for i := range rows {
		if rows[i].has(text) {
			out = append(out, rows[i])
		}
	}
	slices.SortFunc(out, func(a, b Row) int { return by.compare(&a, &b) })
	return out
}
