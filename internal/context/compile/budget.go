package compile

import (
	"cmp"
	"fmt"
	"slices"

	"ctxfs/internal/swap"
)

// section is a list that may be cut to stay within the budget.
type section struct {
	name string
	list *[]Entry
}

// sections are those that the budget may cut. Intent, constraints, success criteria, allowed actions and policy controls are
// never cut: what governs the work is no filling.
func (b *builder) sections() []section {
	p := &b.v2
	return []section{{"durable_facts", &p.Facts}, {"relevant_evidence", &p.Evidence}, {"prior_decisions", &p.Decisions}, {"open_loops", &p.Loops},
		{"suggested_plan", &p.Plan}, {"preferences", &p.Preferences}}
}

// enforceBudget drops the entries with the lowest scores, whatever section they stand in, until the rest fits; what stays of a
// dropped entry is its provenance, and that goes only when nothing else is left to go, again the lowest score first. All is
// counted as compact JSON.
func (b *builder) enforceBudget() {
	p := &b.v2
	p.Budget.Max, p.Budget.Tokenizer, p.Budget.Warnings = max(0, b.in.Input.Budget-b.in.Input.Reserve), b.in.Tokenizer, append([]string{}, b.notes...)
	all := b.weigh()
	used := b.size(p)
	for used > p.Budget.Max && len(all) > 0 {
		all = b.drop(all, used-p.Budget.Max)
		used = b.size(p) // parts count a little differently alone
	}
	slices.SortStableFunc(p.Dropped, func(x, y Dropped) int { return cmp.Compare(y.Score, x.Score) })
	for used > p.Budget.Max && len(p.Dropped) > 0 {
		b.dropProvenance(used - p.Budget.Max)
		used = b.size(p)
	}
	p.Dropped = some(p.Dropped)
	p.Budget.Used = used
	b.warn(used)
}

// drop turns the last of all into their provenance until about enough tokens are free, and gives those before them.
func (b *builder) drop(all []weighed, enough int) []weighed {
	for enough > 0 && len(all) > 0 {
		e := all[len(all)-1]
		all = all[:len(all)-1]
		d := Dropped{ID: e.ID, Section: e.section, Score: e.Score, Tokens: e.Tokens, Reason: "budget_limit", Prov: e.Prov}
		enough -= max(1, b.size(e.Entry)-b.size(d))
		b.v2.Dropped = append(b.v2.Dropped, d)
		b.remove(e.section, e.ID)
	}
	return all
}

func (b *builder) dropProvenance(enough int) {
	p := &b.v2
	for enough > 0 && len(p.Dropped) > 0 {
		enough -= b.size(p.Dropped[len(p.Dropped)-1])
		p.Dropped = p.Dropped[:len(p.Dropped)-1]
		p.Budget.Lost++
	}
}

// weighed is an entry that may go.
type weighed struct {
	Entry
	section string
}

// weigh counts the texts of entries, and lists what may go: the best first.
func (b *builder) weigh() (out []weighed) {
	p := &b.v2
	for _, list := range []*[]Entry{&p.Constraints, &p.Success} {
		for i := range *list {
			(*list)[i].Tokens = b.in.Count((*list)[i].Text)
		}
	}
	for _, s := range b.sections() {
		for i := range *s.list {
			e := &(*s.list)[i]
			e.Tokens = b.in.Count(e.Text)
			out = append(out, weighed{*e, s.name})
		}
	}
	slices.SortStableFunc(out, func(x, y weighed) int { return cmp.Compare(y.Score, x.Score) })
	return out
}

// size is what a value takes as compact JSON, in tokens.
func (b *builder) size(v any) int { return b.in.Count(string(swap.Line(v))) }

func (b *builder) remove(section, id string) {
	for _, s := range b.sections() {
		if s.name == section {
			*s.list = slices.DeleteFunc(*s.list, func(e Entry) bool { return e.ID == id })
		}
	}
}

func (b *builder) warn(used int) {
	p := &b.v2.Budget
	for _, name := range sorted(p.Beyond) {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%s: %d more than there is place for", name, p.Beyond[name]))
	}
	if n := len(b.v2.Dropped) + p.Lost; n > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%d entries are left out; the lowest scores first", n))
	}
	if p.Lost > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("of %d of them the provenance is left out too", p.Lost))
	}
	if used > p.Max {
		p.Warnings = append(p.Warnings, fmt.Sprintf("what is never left out takes about %d tokens, %d more than there are", used, used-p.Max))
	}
}
