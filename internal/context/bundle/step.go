package bundle

import "slices"

// step goes to the next context, and gives the items that are in force then.
func (l *ledger) step(c *Context, declared bool) []*Item {
	l.steps++
	l.terms.tidy(l.force)
	items := l.admitted(c)
	s := &step{ledger: l, c: c, query: l.terms.of(c.Query), in: map[string]*Item{}, there: map[string]bool{}, replaced: map[string][]*held{}}
	for _, x := range items {
		s.in[x.ID] = x
	}
	for _, id := range c.Omitted {
		s.there[id] = true
	}
	for i := range c.Items {
		if x := &c.Items[i]; !x.Withdrawn {
			s.there[x.ID] = true // shown, and over the budget
		}
	}
	s.leave(items)
	for _, h := range l.force {
		if h.died == 0 {
			s.stay(h, declared)
		}
	}
	for _, x := range items {
		if l.at[x.ID] == nil {
			s.enter(x)
		}
	}
	l.force = slices.DeleteFunc(l.force, func(h *held) bool { return h.died > 0 })
	return items
}

// step is one context being taken in.
type step struct {
	*ledger
	c        *Context
	query    []uint32
	in       map[string]*Item   // what is in force after it
	there    map[string]bool    // what still exists
	replaced map[string][]*held // by the id of the entry that comes instead
}

// leave takes out what is in force no more, and finds what comes in its place.
func (s *step) leave(items []*Item) {
	comes := map[string]string{} // subject -> the first new entry about it
	for _, x := range items {
		if x.Subject != "" && s.at[x.ID] == nil && comes[x.Subject] == "" {
			comes[x.Subject] = x.ID
		}
	}
	for _, h := range s.force {
		x := &h.item
		if s.in[x.ID] != nil {
			continue
		}
		h.died = s.steps
		delete(s.at, x.ID)
		by := s.claimer(x)
		switch {
		case by != "" && s.in[by] != nil:
		case by != "":
			s.line(h, Supersede, Superseded, "")
			continue
		default:
			if by = comes[x.Subject]; by != "" {
				s.unclaim(x.ID)
			}
		}
		switch {
		case by != "":
			s.replaced[by] = append(s.replaced[by], h)
		case s.there[x.ID] || x.Log && !s.withdrawn(x.ID):
			s.line(h, Evict, h.status, "")
		default:
			s.line(h, Deprecate, Deprecated, "")
			s.unclaim(x.ID)
		}
	}
}

func (s *step) withdrawn(id string) bool {
	return slices.ContainsFunc(s.c.Items, func(x Item) bool { return x.ID == id && x.Withdrawn })
}

// stay notes what became of an entry that is still in force.
func (s *step) stay(h *held, declared bool) {
	h.item = *s.in[h.item.ID]
	status := h.status
	if now := h.item.status(); now == Validated {
		status = Validated
	} else if h.status == Hypothesis && declared {
		status = Active
	}
	if status != h.status {
		h.status = status
		s.line(h, Commit, status, "")
	}
	for _, old := range s.replaced[h.item.ID] {
		s.line(h, Supersede, h.status, old.item.ID)
	}
}

// enter takes in an entry that was not in force.
func (s *step) enter(x *Item) {
	h := &held{item: *x, status: x.status(), since: s.c.CreatedAt, terms: s.terms.of(x.Content), query: s.query, born: s.steps}
	s.force, s.at[x.ID] = append(s.force, h), h
	if len(s.replaced[x.ID]) == 0 {
		s.line(h, Commit, h.status, "")
	}
	for _, old := range s.replaced[x.ID] {
		s.line(h, Supersede, h.status, old.item.ID)
	}
	s.terms.add(h)
}

func (s *step) line(h *held, decision, status, supersedes string) {
	relevance := min(max(h.item.Relevance, 0), 1)
	if now := s.in[h.item.ID]; now == nil || relevance == 0 { // the pack's own is of this context only
		relevance = share(h.terms, s.query)
	}
	s.lines = append(s.lines, Line{TS: s.c.CreatedAt, EntryID: h.item.ID, Decision: decision, Status: status, Supersedes: supersedes,
		Reason: &Reason{Relevance: NumberOf(relevance), Novelty: NumberOf(s.terms.novelty(h, s.steps)), Drift: NumberOf(drift(s.query, h.query))}})
}
