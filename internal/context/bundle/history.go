package bundle

// History derives the lifecycle from the packs that were shown: contexts are those that were declared injected, in
// order, now is the present one, which nobody was shown yet. It gives the entries that are in force now, in the order of
// now's items, and the lines. The lines about the declared contexts never change when others follow; those about now do.
//
// Lines, at each context, with its time:
//
//   - evict: an entry is shown no more, but is still there (in Omitted, or in the log), or went over the budget.
//   - deprecate: it is shown no more and is not there any more: its file, or its line of a file, was removed; or its own
//     text withdraws it.
//   - commit: an entry is shown that was not in force; again after it was evicted. Also when the status of an entry in
//     force rises, since the format has no other word for that.
//   - supersede: a commit in place of another entry: one that goes and has the same subject, or that the new one names,
//     or that the pack shows in its place (a newer read of the same file). When that one is not in force itself, the
//     line is about the old entry and has no supersedes.
//
// Status:
//
//   - validated: an agent or a person wrote it down to hold, or something later refers to it.
//   - hypothesis: ctxfs inferred it. It is active from the second declared context on that shows it: an agent had it
//     before its eyes, and neither withdrew nor replaced it.
//   - active: the rest: the very words and outputs of the log.
//   - deprecated, superseded: as the decision says. An evicted entry keeps its status: nothing was said against it.
//
// Reason, each from 0 to 1, where terms are those of context/recall (stemmed words and parts of identifiers), T are the
// distinct terms of the entry's content and Q those of the context's query:
//
//   - relevance: the pack's own when it ranked the entry, else |T∩Q| / |Q|; 0 without a query.
//   - novelty: 1 - the largest |T∩U| / |T| over the terms U of the other entries that were in force before this context;
//     0 for an entry without terms.
//   - drift: 1 - |Q∩C| / |Q∪C|, where C are the terms of the query when the entry was committed; 0 when both are empty.
//
// All of them are rounded to four decimals.
func History(contexts []Context, now Context) ([]Entry, []Line) {
	l := newLedger()
	for i := range contexts {
		l.step(&contexts[i], true)
	}
	items := l.step(&now, false)
	out := make([]Entry, 0, len(items))
	for _, x := range items {
		out = append(out, x.entry(l.at[x.ID].since))
	}
	return out, l.lines
}

func (x *Item) entry(since string) Entry {
	e := Entry{ID: x.ID, Slot: x.Slot, Content: x.Content, Tokens: x.Tokens, Score: NumberOf(x.Score), Resolution: x.Resolution,
		UnitRef: x.UnitRef, CommittedAt: since}
	if e.Resolution == "" {
		e.Resolution = Full
	}
	return e
}

// Make puts a bundle together: format, version, schema, token_count. A budget that the entries exceed is raised.
func Make(m Manifest, budget int, entries []Entry, lines []Line) *Bundle {
	m.Format, m.Version = Format, Version
	s := Snapshot{Schema: Slots(), BudgetTokens: budget, Entries: entries}
	slots := map[string]bool{}
	for _, slot := range s.Schema {
		slots[slot] = true
	}
	for i := range entries {
		s.TokenCount += entries[i].Tokens
		if slot := entries[i].Slot; !slots[slot] {
			slots[slot] = true
			s.Schema = append(s.Schema, slot)
		}
	}
	s.BudgetTokens = max(budget, s.TokenCount)
	return &Bundle{Manifest: m, Snapshot: s, Lifecycle: lines}
}

// ledger is what is in force between two contexts.
type ledger struct {
	force  []*held // in order of commit
	at     map[string]*held
	claims map[string]string // id or subject -> the entry that says it replaces it
	lines  []Line
	terms  *thesaurus
	steps  int
}

// held is an entry in force.
type held struct {
	item       Item
	status     string
	since      string   // when it was committed
	terms      []uint32 // of its content
	query      []uint32 // of the query at its commit
	born, died int      // steps; died is 0 while it is in force
}

func newLedger() *ledger {
	return &ledger{at: map[string]*held{}, claims: map[string]string{}, terms: newThesaurus()}
}
