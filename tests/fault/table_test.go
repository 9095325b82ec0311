//go:build linux && amd64

package fault

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
)

// table counts what a run tried, by call.
type table struct {
	mu   sync.Mutex
	rows map[string]*row
}

type row struct{ sites, faults, met, told, wrong int }

func newTable(sites []site) *table {
	t := &table{rows: map[string]*row{"all": {}}}
	for _, s := range sites {
		t.row(s.Call).sites++
		t.rows["all"].sites++
	}
	return t
}

func (t *table) row(call string) *row {
	if t.rows[call] == nil {
		t.rows[call] = &row{}
	}
	return t.rows[call]
}

func (t *table) add(p plan, o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range []*row{t.row(p.Site.Call), t.rows["all"]} {
		r.faults++
		if o.hits > 0 {
			r.met++
		}
		if len(o.errs) > 0 {
			r.told++
		}
		if len(o.wrong) > 0 {
			r.wrong++
		}
	}
}

// String shows the table. A fault that is not met is one of a call that this run did not come to; one that nobody was told of
// was worked around.
func (t *table) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "call\tsites\tfaults\tmet\ttold\twrong\t")
	names := slices.Sorted(maps.Keys(t.rows))
	for _, name := range append(slices.DeleteFunc(names, func(s string) bool { return s == "all" }), "all") {
		r := t.rows[name]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t\n", name, r.sites, r.faults, r.met, r.told, r.wrong)
	}
	_ = w.Flush() // to memory
	return b.String()
}
