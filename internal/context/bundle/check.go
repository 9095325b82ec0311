package bundle

import (
	"fmt"
	"slices"
	"strings"
)

// check looks at what the files say together.
func (f *finder) check(b *Bundle) {
	ids := f.checkEntries(&b.Snapshot)
	f.checkSums(&b.Snapshot)
	f.checkLog(b.Lifecycle, ids)
}

func (f *finder) checkEntries(s *Snapshot) map[string]bool {
	at := Problem{File: SnapshotFile}
	slots := map[string]bool{}
	for _, slot := range s.Schema {
		if slots[slot] {
			f.tell(at, "schema names "+short(slot)+" twice", "name each slot once")
		}
		slots[slot] = true
	}
	ids := map[string]bool{}
	for i := range s.Entries {
		e := &s.Entries[i]
		at.Entry = e.ID
		if ids[e.ID] {
			f.tell(at, fmt.Sprintf("entries[%d] has the id of another entry", i), "give each entry an id of its own")
		}
		ids[e.ID] = true
		if !slots[e.Slot] {
			f.tell(at, "slot "+short(e.Slot)+" is not in schema ("+strings.Join(firsts(s.Schema, 12), ", ")+")", "add it to schema, or use one of those slots")
		}
		if e.Content == "" && e.Resolution != Pointer {
			f.tell(at, "content is empty with resolution "+e.Resolution, "give the content, or make it a pointer with a unit_ref")
		}
	}
	return ids
}

func firsts(list []string, n int) []string {
	if len(list) > n {
		return append(slices.Clone(list[:n]), "…")
	}
	return list
}

func (f *finder) checkSums(s *Snapshot) {
	at, sum := Problem{File: SnapshotFile}, 0
	for i := range s.Entries {
		sum += s.Entries[i].Tokens
	}
	if sum != s.TokenCount {
		f.tell(at, fmt.Sprintf("token_count is %d, but the tokens of the entries sum to %d", s.TokenCount, sum), fmt.Sprintf("set token_count to %d, or mend the entries", sum))
	}
	if foot := max(sum, s.TokenCount); foot > s.BudgetTokens {
		f.tell(at, fmt.Sprintf("the entries take %d tokens of a budget of %d", foot, s.BudgetTokens), "evict entries with a low score, or raise budget_tokens")
	}
}

// checkLog follows the log; ids are those of the snapshot. See the package comment for what a line may name.
func (f *finder) checkLog(lines []Line, ids map[string]bool) {
	known := map[string]bool{}
	live := map[string]Problem{} // what the log holds in force, by the line that brought it in
	var order []string
	at := Problem{File: LifecycleFile}
	for i := range lines {
		l := &lines[i]
		at.Line, at.Entry = f.rows[i], l.EntryID
		if old := l.Supersedes; old == l.EntryID {
			f.tell(at, "supersedes itself", "name the entry that it replaced")
		} else if old != "" && !ids[old] && !known[old] {
			f.tell(at, "supersedes "+short(old)+", which is no entry of "+SnapshotFile+" and was never committed", "name an entry that was there before")
		}
		if l.Decision == Supersede && l.Supersedes == "" && l.Status != Superseded {
			f.tell(at, "decision supersede without supersedes", "name in supersedes the entry that it replaced")
		}
		if !l.enters() && !ids[l.EntryID] && !known[l.EntryID] {
			f.tell(at, "names no entry: it is not in "+SnapshotFile+", and no line before commits it", "mend entry_id, or put the line that commits it before")
		}
		known[l.EntryID] = true
		delete(live, l.Supersedes)
		if delete(live, l.EntryID); l.enters() && InForce(l.Status) {
			live[l.EntryID] = at
			order = append(order, l.EntryID)
		}
	}
	for _, id := range order {
		if at, ok := live[id]; ok && !ids[id] {
			delete(live, id)
			f.tell(at, "names no entry: by the log it is in force, but it is not in "+SnapshotFile, "add the entry there, or the line that evicts it here")
		}
	}
}

// enters tells whether the line brings its entry in.
func (l *Line) enters() bool {
	return l.Decision == Commit || l.Decision == Supersede && l.Supersedes != ""
}

// InForce tells whether an entry of that status may be relied on: hypothesis, active or validated.
func InForce(status string) bool {
	return status == Hypothesis || status == Active || status == Validated
}

// Statuses gives the status of each entry of the snapshot by its id.
func (b *Bundle) Statuses() map[string]string {
	out := make(map[string]string, len(b.Snapshot.Entries))
	for i := range b.Snapshot.Entries {
		out[b.Snapshot.Entries[i].ID] = Active
	}
	set := func(id, status string) {
		if _, ok := out[id]; ok {
			out[id] = status
		}
	}
	for i := range b.Lifecycle {
		l := &b.Lifecycle[i]
		if l.Decision == Deprecate {
			set(l.EntryID, Deprecated)
		} else {
			set(l.EntryID, l.Status)
		}
		if l.enters() && l.Supersedes != "" {
			set(l.Supersedes, Superseded)
		}
	}
	return out
}
