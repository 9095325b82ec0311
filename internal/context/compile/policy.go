package compile

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"ctxfs/internal/context/pack"
)

// Policy is policy.json: what holds for the agent's work and for its context. ctxfs records it and shows it; it keeps to
// visibility itself, all else is for the runtime to keep to.
type Policy struct {
	Rules           []Rule
	Allowed, Denied []string // actions
	RoutingHints    map[string]any
	Visibility      pack.Visibility
	Memory          map[string]any // memory_policy
	Tone            map[string]any
	Retention       map[string]any
	Extra           Extra
}

// Rule is one of the policy's rules.
type Rule struct {
	ID, Effect, Reason, Source string
	// AppliesTo are patterns (path.Match): of a tool's name, of an action's, of tool:NAME, action:NAME, capability:CLASS,
	// risk:LEVEL, approval:MODE, kind:KIND; * is everything.
	AppliesTo []string
	Extra     Extra
}

// Effects of rules.
func effects() []string { return []string{"allow", "deny", "require_approval", "redact", "retain"} }

// Kinds lists what visibility can be said of: the kinds of a pack's items, and thinking.
func Kinds() []string {
	return []string{"system", "summary", "facts", "decisions", "todo", "refs", "child_result", "recent_messages", "recalled_messages", "pinned_ref", "tool_output_part",
		"messages", "missing", "error", pack.KindThinking, pack.KindInstructions}
}

// ParsePolicy reads policy.json: one object.
func ParsePolicy(data []byte) (*Policy, error) {
	if err := sound(PolicyFile, data); err != nil {
		return nil, err
	}
	f := &fields{file: PolicyFile, m: members(data)}
	if f.m == nil {
		return nil, &Problem{File: PolicyFile, Text: "is no JSON object: write {\"rules\": [...], ...}"}
	}
	p := &Policy{Rules: rules(f), Allowed: f.list("allowed_actions"), Denied: f.list("denied_actions"), RoutingHints: f.object("routing_hints"),
		Visibility: visibility(f), Memory: f.object("memory_policy"), Tone: f.object("tone"), Retention: f.object("retention")}
	for _, a := range p.Allowed {
		if slices.Contains(p.Denied, a) {
			f.bad("denied_actions", "%q is allowed too: remove it from one of the two lists", clip(a))
		}
	}
	p.Extra = f.rest()
	if f.err != nil {
		return nil, f.err
	}
	return p, nil
}

func rules(f *fields) (out []Rule) {
	raw := f.take("rules")
	if raw == nil {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) > MaxList {
		f.bad("rules", "is no list of at most %d objects", MaxList)
		return nil
	}
	seen := map[string]int{}
	for i, v := range list {
		g := &fields{file: f.file, at: fmt.Sprintf("rules[%d].", i), m: members(v)}
		if g.m == nil {
			f.bad(fmt.Sprintf("rules[%d]", i), "is no object: write {\"id\": ..., \"effect\": ..., \"applies_to\": ...}")
			return nil
		}
		r := rule(g)
		if first, again := seen[r.ID]; again && g.err == nil {
			g.bad("id", "%q is that of rules[%d] already: give it another", clip(r.ID), first)
		}
		if seen[r.ID] = i; g.err != nil && f.err == nil {
			f.err = g.err
		}
		out = append(out, r)
	}
	return out
}

func rule(g *fields) Rule {
	r := Rule{ID: g.text("id", MaxName, true), Effect: g.word("effect", "", effects()...), AppliesTo: g.list("applies_to"), Reason: g.text("reason", MaxText, false),
		Source: g.text("source", MaxName, false)}
	if len(r.AppliesTo) == 0 {
		g.bad("applies_to", "is missing: name tools, actions or kinds, or * for everything")
	}
	for _, a := range r.AppliesTo {
		if _, err := path.Match(a, ""); err != nil {
			g.bad("applies_to", "%q is no pattern: close its brackets", clip(a))
		}
	}
	r.Extra = g.rest()
	return r
}

func visibility(f *fields) pack.Visibility {
	raw := f.take("visibility")
	if raw == nil {
		return nil
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		f.bad("visibility", "is no object: write {\"thinking\": [\"model\", \"reviewer\"], ...}")
		return nil
	}
	out := pack.Visibility{}
	g := &fields{file: f.file, at: "visibility.", m: m}
	for _, kind := range sorted(m) {
		if !slices.Contains(Kinds(), kind) {
			g.bad(kind, "is no kind of context: %s", oneOf(Kinds()))
		}
		if string(m[kind]) == "null" {
			continue
		}
		targets := g.list(kind)
		for _, t := range targets {
			if !slices.Contains(pack.Targets(), t) {
				g.bad(kind, "%q is no target: %s", clip(t), oneOf(pack.Targets()))
			}
		}
		out[kind] = append([]string{}, targets...)
	}
	if g.err != nil && f.err == nil {
		f.err = g.err
	}
	return out
}

// names tells whether the rule is about something that goes by one of those names.
func (r *Rule) names(names ...string) bool {
	for _, a := range r.AppliesTo {
		for _, n := range names {
			if ok, _ := path.Match(a, n); ok || a == "*" { // patterns were checked
				return true
			}
		}
	}
	return false
}

// onTool tells whether the rule is about a tool.
func (r *Rule) onTool(t *Tool) bool {
	return r.names(t.Name, "tool:"+t.Name, "capability:"+t.Capability, "risk:"+t.Risk, "approval:"+t.Approval)
}

// onAction tells whether the rule is about an action.
func (r *Rule) onAction(a string) bool { return r.names(a, "action:"+strings.TrimPrefix(a, "action:")) }
