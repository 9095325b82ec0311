package bundle

import (
	"slices"

	"ctxfs/internal/cas"
)

// Slots are the slots of a bundle that ctxfs exports, in their order: what must hold, what was settled, what is known,
// where the work stands, and what all that rests on.
func Slots() []string { return []string{"constraint", "decision", "fact", "task-state", "evidence"} }

// Slot gives the slot of a kind of item of a pack; "" for an item that is no context, as an error.
func Slot(kind string) string {
	switch kind {
	case "system":
		return "constraint"
	case "decisions":
		return "decision"
	case "facts":
		return "fact"
	case "summary", "todo":
		return "task-state"
	case "child_result", "refs", "recent_messages", "recalled_messages", "pinned_ref", "tool_output_part":
		return "evidence"
	}
	return ""
}

// EntryID is the id of an entry: of what it is about and its whole content, not of how much of that is shown. The same
// text about the same has the same id in every pack and every bundle.
func EntryID(subject string, whole []byte) string {
	sum := cas.Sum(append(append([]byte(subject), 0), whole...)).String()
	return "entry-" + sum[len("blake3-"):][:16]
}

// Context is one pack as History sees it. It is kept with an injection as JSON.
type Context struct {
	CreatedAt string   `json:"created_at"` // RFC 3339
	Query     string   `json:"query"`      // what was asked: the query, else the latest user message
	Budget    int      `json:"budget_tokens"`
	Items     []Item   `json:"items"`             // what the pack shows
	Omitted   []string `json:"omitted,omitempty"` // ids of what is there, and need not be shown
}

// Item is what a pack shows of one entry.
type Item struct {
	ID         string  `json:"id"` // see EntryID
	Slot       string  `json:"slot"`
	Content    string  `json:"content"`
	Tokens     int     `json:"tokens"` // of Content
	Score      float64 `json:"score"`
	Relevance  float64 `json:"relevance,omitempty"`  // the pack's own, from 0 to 1; 0 is not ranked
	Resolution string  `json:"resolution,omitempty"` // "" is full
	UnitRef    string  `json:"unit_ref,omitempty"`
	// Subject is what the entry is about ("context/todo.md", "context/decisions.jsonl#d1", "file:cmd/main.go"; may be
	// empty): an entry that comes replaces one that goes with the same subject.
	Subject string `json:"subject,omitempty"`
	// Supersedes is the id or subject of what the entry itself says that it replaces.
	Supersedes string `json:"supersedes,omitempty"`
	// SupersededBy is the id of the entry that the pack shows in its place.
	SupersededBy string `json:"superseded_by,omitempty"`
	Log          bool   `json:"log,omitempty"`       // stands in the log: can be left out, and never taken away
	Authored     bool   `json:"authored,omitempty"`  // an agent or a person wrote it down to hold: authored and pinned files
	Inferred     bool   `json:"inferred,omitempty"`  // ctxfs drew it from words of others: derived files
	Cited        bool   `json:"cited,omitempty"`     // a later record or an authored file refers to it
	Withdrawn    bool   `json:"withdrawn,omitempty"` // its own text says that it holds no more
}

// status is what an entry is when it comes.
func (x *Item) status() string {
	switch {
	case x.Authored || x.Cited:
		return Validated
	case x.Inferred:
		return Hypothesis
	}
	return Active
}

// admitted gives the items of a context that are to be in force: each id once, none that is withdrawn or that another
// says it replaces, and within the budget, for which the lowest scores are left out.
func (l *ledger) admitted(c *Context) []*Item {
	var out []*Item
	seen := map[string]bool{}
	for i := range c.Items {
		if x := &c.Items[i]; !seen[x.ID] && !x.Withdrawn {
			seen[x.ID] = true
			out = append(out, x)
		}
	}
	byID := map[string]*Item{}
	for _, x := range slices.Backward(out) {
		byID[x.ID] = x
		if by := x.SupersededBy; by != "" {
			l.claims[x.ID] = by
		}
		by := byID[l.claimer(x)] // of two that replace each other, the later one stays
		if x.Supersedes != "" && !x.named(x.Supersedes) && (by == nil || !by.named(x.Supersedes)) {
			l.claims[x.Supersedes] = x.ID
		}
	}
	out = slices.DeleteFunc(out, func(x *Item) bool { return l.claimer(x) != "" })
	return within(out, c.Budget)
}

func (x *Item) named(name string) bool { return name == x.ID || name == x.Subject }

// unclaim forgets what an entry said that it replaces: it says so no more.
func (l *ledger) unclaim(id string) {
	for name, by := range l.claims {
		if by == id {
			delete(l.claims, name)
		}
	}
}

// claimer gives the entry that says it replaces x, "" for none.
func (l *ledger) claimer(x *Item) string {
	for _, name := range []string{x.ID, x.Subject} {
		if by := l.claims[name]; name != "" && by != "" && by != x.ID {
			return by
		}
	}
	return ""
}

// within leaves out the items with the lowest scores until the rest fits; of equals the last.
func within(items []*Item, budget int) []*Item {
	sum := 0
	for _, x := range items {
		sum += x.Tokens
	}
	if budget <= 0 || sum <= budget {
		return items
	}
	order := slices.Clone(items)
	slices.SortStableFunc(order, func(a, b *Item) int { return compare(b.Score, a.Score) })
	for sum > budget {
		last := order[len(order)-1]
		order, sum = order[:len(order)-1], sum-last.Tokens
		items = slices.DeleteFunc(items, func(x *Item) bool { return x == last })
	}
	return items
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
