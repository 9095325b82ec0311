package bundle

import "slices"

// Merge gives what a session holds of others' working context after it imports a bundle. held is what it held before,
// nil for nothing; both are left as they are. Importing one bundle twice is the same as once.
//
//   - An entry that is new is added at the end; one whose id is known is replaced by the imported one, in its place.
//   - The imported log is added at the end, from its first line on that held does not have (as often). So the log of an
//     older export of the same context adds nothing, statuses stay the newest, and what is added ends as it did there.
//   - An entry that is evicted in what was added, and that the imported snapshot does not have, leaves; but not one that
//     the log names without having committed it.
//   - New slots are added at the end of the schema. token_count is the new sum; budget_tokens is the larger of the two
//     budgets, or the sum where that is more: what bounds a pack is the importer's own budget.
//   - The manifest is the imported one. Foreign fields of both are kept, the imported value where both have one.
//
// Two valid bundles give a valid one, but for the bounds (MaxEntries, MaxLines, MaxFile), which Validate looks at.
func Merge(held, imported *Bundle) *Bundle {
	if held == nil {
		held = &Bundle{}
	}
	out := &Bundle{Manifest: imported.Manifest}
	out.Manifest.Foreign = mergeForeign(held.Manifest.Foreign, imported.Manifest.Foreign)
	a, b := &held.Snapshot, &imported.Snapshot
	s := &out.Snapshot
	s.Schema = slices.Clone(a.Schema)
	for _, slot := range b.Schema {
		if !slices.Contains(s.Schema, slot) {
			s.Schema = append(s.Schema, slot)
		}
	}
	out.Lifecycle = mergeLines(held.Lifecycle, imported.Lifecycle)
	gone := evicted(out.Lifecycle, len(held.Lifecycle))
	for _, e := range b.Entries {
		delete(gone, e.ID)
	}
	s.Entries = slices.DeleteFunc(mergeEntries(a, b), func(e Entry) bool { return gone[e.ID] })
	for i := range s.Entries {
		s.TokenCount += s.Entries[i].Tokens
	}
	s.BudgetTokens = max(a.BudgetTokens, b.BudgetTokens, s.TokenCount)
	s.Foreign = mergeForeign(a.Foreign, b.Foreign)
	return out
}

// evicted gives the ids that the lines from the given one on leave evicted, and that the log can do without.
func evicted(log []Line, from int) map[string]bool {
	gone, known := map[string]bool{}, map[string]bool{}
	needed := map[string]bool{} // named before they were committed
	for i := range log {
		l := &log[i]
		if delete(gone, l.EntryID); l.Decision == Evict && i >= from {
			gone[l.EntryID] = true
		}
		if l.enters() {
			known[l.EntryID] = true
		}
		for _, id := range []string{l.EntryID, l.Supersedes} {
			needed[id] = needed[id] || !known[id]
		}
	}
	for id := range needed {
		if needed[id] {
			delete(gone, id)
		}
	}
	return gone
}

func mergeEntries(a, b *Snapshot) []Entry {
	out := slices.Clone(a.Entries)
	at := make(map[string]int, len(out))
	for i := range out {
		at[out[i].ID] = i
	}
	for _, e := range b.Entries {
		if i, ok := at[e.ID]; ok {
			e.Foreign = mergeForeign(out[i].Foreign, e.Foreign)
			out[i] = e
		} else {
			out = append(out, e)
		}
	}
	return out
}

func mergeLines(a, b []Line) []Line {
	have := counted(a)
	for i := range b {
		s := b[i].String()
		if have[s] == 0 {
			return append(slices.Clone(a), b[i:]...)
		}
		have[s]--
	}
	return slices.Clone(a)
}

func mergeForeign(a, b Foreign) Foreign {
	out := slices.Clone(a.fields)
	for _, f := range b.fields {
		if i := slices.IndexFunc(out, func(o field) bool { return o.name == f.name }); i >= 0 {
			out[i] = f
		} else {
			out = append(out, f)
		}
	}
	return Foreign{out}
}
