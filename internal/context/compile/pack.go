package compile

import (
	"fmt"
	"slices"
	"strings"

	"ctxfs/internal/context/derive"
)

// How many entries a section holds at most: those with the highest scores.
const (
	maxSection  = 64
	maxEvidence = 128
	maxExcerpt  = 400 // bytes of what an entry quotes
)

// packV2 makes pack.v2.json.
func (b *builder) packV2() {
	b.packID = name("pack", b.in.Session.ID, b.target())
	b.v2 = PackV2{Version: SchemaVersion, PackID: b.packID, ContextID: b.in.ContextID, Session: b.in.Session.ID, Agent: b.in.Session.Agent, Target: b.target(),
		CreatedAt: b.in.Created, Intent: b.intent(), Episode: b.episode(), Allowed: b.actions(), Controls: b.controls(), Routing: b.authored.policy.RoutingHints, Budget: BudgetV2{Beyond: map[string]int{}}}
	b.v2.Facts, b.v2.Evidence, b.v2.Decisions, b.v2.Success = b.facts(), b.evidence(), b.decisions(), b.success()
	b.v2.Constraints, b.v2.Preferences = b.wishes()
	b.v2.Loops = b.loops()
	b.v2.Plan = b.plan()
	if b.v2.Routing == nil {
		b.v2.Routing = map[string]any{}
	}
	b.enforceBudget()
	b.one("pack.v2.json", &b.v2)
}

// intent is what the pack was made for, as the pack says it.
func (b *builder) intent() *Intent {
	p := b.in.Pack
	switch {
	case p.Query == "":
		return nil
	case refNumber(p.Asked) > 0:
		return &Intent{p.Query, b.recordProv(refNumber(p.Asked))}
	}
	return &Intent{p.Query, Prov{Path: b.in.File, Source: "query"}}
}

// entry returns an entry with the start of its text.
func (b *builder) entry(id, text, origin string, score float64, p Prov) Entry {
	return Entry{ID: id, Text: shown(text, maxExcerpt), Origin: origin, Score: round(score), Prov: p}
}

func (b *builder) origin(authored []byte) string {
	if authored != nil {
		return "agent"
	}
	return "derived"
}

// facts are the lines of facts.jsonl, those that hold.
func (b *builder) facts() (out []Entry) {
	list := b.held("facts", b.in.Facts)
	gone := replaced(list)
	for _, l := range list {
		e := b.entry(l.ID, l.Text, b.origin(b.in.Input.Authored.Facts), b.creditOf("fact", l.ID), b.lineProv("context/facts.jsonl", l))
		e.MemoryID, e.Status, e.Metadata = l.ID, l.Status, l.extra
		out = b.unless(gone[l.ID], "durable_facts", e, out)
	}
	return b.ranked("durable_facts", out, maxSection)
}

// decisions are the lines of decisions.jsonl, those that hold.
func (b *builder) decisions() (out []Entry) {
	list := b.held("decisions", b.in.Decisions)
	gone := replaced(list)
	for _, l := range list {
		e := b.entry(l.ID, l.Text, b.origin(b.in.Input.Authored.Decisions), b.creditOf("decision", l.ID), b.lineProv("context/decisions.jsonl", l))
		e.DecisionID, e.Status, e.Metadata = l.ID, l.Status, l.extra
		out = b.unless(gone[l.ID], "prior_decisions", e, out)
	}
	return b.ranked("prior_decisions", out, maxSection)
}

// creditOf is how far a fact or a decision can be believed; the oldest are not reviewed any more.
func (b *builder) creditOf(kind, id string) float64 {
	if c, ok := b.credit[kind+" "+id]; ok {
		return c
	}
	return byUnknown / 2
}

// unless adds an entry that nothing replaced.
func (b *builder) unless(gone, section string, e Entry, to []Entry) []Entry {
	if gone != "" {
		b.v2.Dropped = append(b.v2.Dropped, Dropped{ID: e.ID, Section: section, Score: e.Score, Reason: "stale", Prov: e.Prov})
		return to
	}
	return append(to, e)
}

// ranked puts the best first and keeps as many as a section may hold.
func (b *builder) ranked(section string, list []Entry, most int) []Entry {
	slices.SortStableFunc(list, func(x, y Entry) int {
		switch {
		case x.Score > y.Score:
			return -1
		case x.Score < y.Score:
			return 1
		}
		return 0
	})
	if n := len(list) - most; n > 0 {
		b.v2.Budget.Beyond[section] = n
	}
	return some(list[:min(most, len(list))])
}

// evidence is what the pack shows, but for the files that have a section of their own: where it is, and how it begins there.
func (b *builder) evidence() (out []Entry) {
	md := b.in.Pack.Markdown
	for i := range b.in.Pack.Items {
		it := &b.in.Pack.Items[i]
		switch it.Kind {
		case "facts", "decisions", "todo":
			continue
		}
		text := string(md[min(it.Start, len(md)):min(it.End, len(md))]) // masked, and cut to what the target may see
		e := Entry{ID: b.itemID(i), Kind: it.Kind, Text: strings.TrimSpace(derive.Excerpt(text, maxExcerpt)), Score: round(min(1, it.Score)), Origin: "log", Digest: it.Digest,
			Prov: b.itemProv(i), Metadata: map[string]any{"pack_tokens": it.Tokens, "pack_score": it.Score}}
		if it.Source != messages {
			e.Origin = "file"
		}
		if it.Note != "" {
			e.Metadata["note"] = it.Note
		}
		if it.Cut {
			e.Metadata["cut"] = true
		}
		out = append(out, e)
	}
	return b.ranked("relevant_evidence", out, maxEvidence)
}

// wishes are the constraints and preferences: those that were written down as such, then those of facts.jsonl that are one.
func (b *builder) wishes() (constraints, preferences []Entry) {
	for _, c := range b.authored.constraints {
		e := b.entry(c.ID, c.Text, "authored", weightOf(c.Severity), b.fileProv(ConstraintsFile, c.Line, c.Source))
		e.Severity, e.AppliesTo, e.Metadata = c.Severity, c.AppliesTo, known(c.Extra)
		constraints = append(constraints, e)
	}
	for _, p := range b.authored.preferences {
		e := b.entry(p.ID, p.Text, "authored", 0.5, b.fileProv(PreferencesFile, p.Line, p.Source))
		if p.Weight != nil {
			e.Score, e.Weight = round(*p.Weight), p.Weight
		}
		e.Metadata = known(p.Extra)
		preferences = append(preferences, e)
	}
	for _, f := range b.v2.Facts {
		switch e := f; {
		case prefers(f.Text):
			e.ID, e.Metadata = "preference-of-"+f.ID, nil
			preferences = append(preferences, e)
		case isRule(f.Text):
			e.ID, e.Metadata = "constraint-of-"+f.ID, nil
			constraints = append(constraints, e)
		}
	}
	return b.ranked("constraints", constraints, maxSection), b.ranked("preferences", preferences, maxSection)
}

func weightOf(severity string) float64 {
	switch severity {
	case "blocking":
		return 1
	case "low":
		return 0.7
	case "info":
		return 0.6
	case "medium":
		return 0.8
	}
	return 0.9 // high, and what nobody weighed: it is a constraint
}

func prefers(text string) bool {
	t := " " + strings.ToLower(text)
	return strings.Contains(t, " i prefer ") || strings.Contains(t, " we prefer ") || strings.Contains(t, " i like ")
}

// isRule tells whether a fact is a rule: derive takes those for facts that say so at their start, or by "must".
func isRule(text string) bool {
	t := " " + strings.ToLower(text) + " "
	return slices.ContainsFunc([]string{" always ", " never ", " do not ", " don't ", " must ", " make sure ", " be sure ", " constraint"}, func(w string) bool { return strings.Contains(t, w) })
}

// success are the lines of success.jsonl.
func (b *builder) success() (out []Entry) {
	for _, c := range b.authored.success {
		e := b.entry(c.ID, c.Text, "authored", 1, b.fileProv(SuccessFile, c.Line, c.Source))
		e.Check, e.Status, e.Metadata = shown(c.Check, maxExcerpt), c.Status, known(c.Extra)
		out = append(out, e)
	}
	return b.ranked("success_criteria", out, maxSection)
}

// actions are those that the policy allows, without those that one of its rules denies.
func (b *builder) actions() []Action {
	out := []Action{}
	for i, a := range b.authored.policy.Allowed {
		x := Action{Action: a, Rules: []string{}, Prov: Prov{Path: PolicyFile, Anchor: pointer(fmt.Sprintf("/allowed_actions/%d", i))}}
		denied := false
		for k := range b.authored.policy.Rules {
			r := &b.authored.policy.Rules[k]
			if !r.onAction(a) {
				continue
			}
			x.Rules = append(x.Rules, r.ID)
			denied = denied || r.Effect == "deny"
			x.Approval = x.Approval || r.Effect == "require_approval"
		}
		if !denied {
			out = append(out, x)
		}
	}
	return out
}

// controls are the policy's rules and denied actions, and the files of rules that ctxfs kept to when it made the pack.
func (b *builder) controls() []Control {
	out := []Control{}
	p := b.authored.policy
	for i := range p.Rules {
		r := &p.Rules[i]
		out = append(out, Control{ID: r.ID, Effect: r.Effect, AppliesTo: r.AppliesTo, Reason: r.Reason, Metadata: known(r.Extra),
			Prov: Prov{Path: PolicyFile, Anchor: pointer(fmt.Sprintf("/rules/%d", i)), Source: r.Source}})
	}
	for i, a := range p.Denied {
		out = append(out, Control{ID: "denied-action:" + a, Effect: "deny", AppliesTo: []string{"action:" + a}, Prov: Prov{Path: PolicyFile, Anchor: pointer(fmt.Sprintf("/denied_actions/%d", i))}})
	}
	for _, kind := range sorted(p.Visibility) {
		out = append(out, Control{ID: "visibility:" + kind, Effect: "allow", AppliesTo: []string{"kind:" + kind}, Metadata: map[string]any{"targets": p.Visibility[kind]},
			Prov: Prov{Path: PolicyFile, Anchor: pointer("/visibility/" + kind)}})
	}
	for _, ref := range b.in.PolicyRefs {
		if ref != PolicyFile {
			out = append(out, Control{ID: "file:" + ref, Effect: "redact", AppliesTo: []string{"*"}, Prov: Prov{Path: ref}})
		}
	}
	return out
}
