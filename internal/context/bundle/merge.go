package bundle

import "slices"

// Merge gives what a session holds of others' working context after it imports a bundle. held is what it held before,
// nil for nothing; both are left as they are. Importing one bundle twice is the same as once.
//
//   - An entry that is new is added at the end; one whose id is known is replaced by the imported one, in its place.
//   - Of the log, those lines are added at the end that held does not have as often. So the log of an older export of
//     the same context adds nothing, and statuses stay the newest.
//   - An entry that one of these new lines evicts, and that the imported snapshot does not have, leaves.
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
	gone := evicted(out.Lifecycle[len(held.Lifecycle):])
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

// evicted gives the ids that a part of a log leaves evicted.
func evicted(lines []Line) map[string]bool {
	out := map[string]bool{}
	for i := range lines {
		delete(out, lines[i].EntryID)
		if lines[i].Decision == Evict {
			out[lines[i].EntryID] = true
		}
	}
	return out
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
	out := slices.Clone(a)
	have := counted(a)
	for i := range b {
		if s := b[i].String(); have[s] > 0 {
			have[s]--
		} else {
			out = append(out, b[i])
		}
	}
	return out
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
