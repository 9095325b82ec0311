package trace

import (
	"fmt"
	"strings"

	"ctxfs/internal/context/pack"
)

// cite is a reference that a record of the pack gives as evidence, or where its picture is.
type cite struct {
	record int
	ref    string
}

// cites notes a reference, once.
func (b *builder) cites(n int, ref string) {
	r := Ref{"evidence", ref}
	if !b.referred[r] {
		b.referred[r] = true
		b.evidence = append(b.evidence, cite{n, ref})
	}
}

// isOpen tells whether a gap with that status is still one.
func isOpen(status string) bool {
	switch status {
	case "open", "requested", "waiting", "blocked":
		return true
	}
	return false
}

// missing writes missing.jsonl: what agents say that they need, what is pinned and not there, evidence that no source holds.
func (b *builder) missing() error {
	b.gaps = append(b.gaps, b.in.Missing...)
	gone := map[string]bool{}
	for i := range b.in.Pack.Items {
		if it := &b.in.Pack.Items[i]; it.Kind == "missing" {
			m := b.pinnedGap(it)
			gone[m.MissingID] = true
			b.gaps = append(b.gaps, m)
		}
	}
	for i := range b.in.Pack.Omitted {
		if o := &b.in.Pack.Omitted[i]; o.Kind == "missing" {
			m := b.pinnedGap(&pack.Item{Kind: o.Kind, Source: o.Source, Note: o.Range})
			gone[m.MissingID] = true
			b.gaps = append(b.gaps, m)
		}
	}
	for _, e := range b.evidence {
		if b.in.Resolves == nil || !known(e.ref) || b.in.Resolves(e.ref) {
			continue
		}
		b.gaps = append(b.gaps, Missing{MissingID: id("missing", b.in.Session.ID, "evidence", e.ref), Scope: "session",
			Question:  fmt.Sprintf("record %d cites %s, which no source of this session holds", e.record, e.ref),
			NeededFor: fmt.Sprintf("evidence of messages:%d", e.record), Severity: "medium", Candidates: []MissingHint{{Kind: kindOf(e.ref), Hint: e.ref}}, Status: "open"})
	}
	b.resolvedSince(gone)
	for i := range b.gaps {
		g := &b.gaps[i]
		g.Candidates, g.Blocked, g.Resolution = list(g.Candidates), list(g.Blocked), list(g.Resolution)
	}
	b.files["missing.jsonl"] = lines(b.gaps)
	return nil
}

func (b *builder) pinnedGap(it *pack.Item) Missing {
	return Missing{MissingID: id("missing", b.in.Session.ID, it.Source, it.Note), Scope: "session",
		Question:  fmt.Sprintf("%s names %q, which is not there", it.Source, it.Note),
		NeededFor: "what " + it.Source + " pins", Severity: "high", Candidates: []MissingHint{{Kind: kindOf(it.Note), Hint: it.Note}}, Status: "open",
		Resolution: []string{}, CreatedAt: b.in.Created}
}

// resolvedSince keeps what was missing in the context that was shown last, and is there now.
func (b *builder) resolvedSince(gone map[string]bool) {
	if b.in.Before == nil {
		return
	}
	for i := range b.in.Before.Items {
		it := &b.in.Before.Items[i]
		if it.Kind != "missing" {
			continue
		}
		if m := b.pinnedGap(it); !gone[m.MissingID] {
			m.Status, m.Resolution = "resolved", []string{it.Source}
			b.gaps = append(b.gaps, m)
		}
	}
}

// known tells whether a reference is of a form that ctxfs can look up.
func known(ref string) bool { return kindOf(ref) != "other" }

func kindOf(ref string) string {
	switch {
	case strings.HasPrefix(ref, "messages:"):
		return "messages"
	case strings.HasPrefix(ref, "child:"):
		return "child_result"
	case strings.HasPrefix(ref, "swap:"):
		return "swap"
	case isBlob(ref):
		return "blob"
	}
	return "other"
}
