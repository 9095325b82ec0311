package compile

import (
	"slices"

	"ctxfs/internal/context/pack"
)

// Tool is a line of tools.jsonl: a capability that the agent has, what it can do and what that takes (context-pack-spec,
// "Compiler Diagnostics": kind and risk are separate).
type Tool struct {
	Name, Description          string
	Capability, Risk, Approval string
	Source                     string
	Visibility                 []string // targets that may know of it; nil: all
	Line                       int
	Extra                      Extra
}

// Capability classes, risk levels and approval modes, in the specification's order.
func capabilities() []string { return []string{"observe", "recall", "think_support", "verify", "act"} }
func risks() []string {
	return []string{"read_safe", "read_sensitive", "write_reversible", "write_external", "write_irreversible"}
}
func approvals() []string {
	return []string{"read_only", "local_write", "network", "delegated", "destructive"}
}

// ParseTools reads tools.jsonl.
func ParseTools(data []byte) (out []Tool, err error) {
	seen := map[string]int{}
	err = readLines(ToolsFile, data, func(f *fields) {
		t := Tool{Name: f.text("name", MaxName, true), Description: f.text("description", MaxText, false), Capability: f.word("capability_class", "", capabilities()...),
			Risk: f.word("risk_level", "", risks()...), Approval: f.word("approval_mode", "", approvals()...), Source: f.text("source", MaxName, false),
			Visibility: f.list("visibility"), Line: f.line}
		for _, v := range t.Visibility {
			if !slices.Contains(pack.Targets(), v) {
				f.bad("visibility", "%q is no target: %s", clip(v), oneOf(pack.Targets()))
			}
		}
		if n, again := seen[t.Name]; again {
			f.bad("name", "%q stands in line %d already: remove one of the two", clip(t.Name), n)
		}
		seen[t.Name] = f.line
		if f.err == nil {
			t.consistent(f)
		}
		t.Extra = f.rest()
		out = append(out, t)
	})
	return keep(out, err)
}

func reads(risk string) bool { return risk == "read_safe" || risk == "read_sensitive" }

// consistent refuses what contradicts itself:
//   - what only observes or recalls does not write;
//   - what supports thinking, or verifies, writes at most what can be taken back;
//   - approval to read only is for what reads, and approval to destroy for what does not;
//   - approval for local writes is for what can be taken back: what leaves the machine needs network, delegated or
//     destructive, and what cannot be taken back delegated or destructive.
func (t *Tool) consistent(f *fields) {
	switch {
	case (t.Capability == "observe" || t.Capability == "recall") && !reads(t.Risk):
		f.bad("risk_level", "%s contradicts capability_class %s, which only reads: make it act, or the risk read_safe or read_sensitive", t.Risk, t.Capability)
	case (t.Capability == "think_support" || t.Capability == "verify") && !reads(t.Risk) && t.Risk != "write_reversible":
		f.bad("risk_level", "%s contradicts capability_class %s, which writes at most what can be taken back: make it act", t.Risk, t.Capability)
	case t.Approval == "read_only" && !reads(t.Risk):
		f.bad("approval_mode", "read_only contradicts risk_level %s: use local_write, network, delegated or destructive, as the risk needs", t.Risk)
	case t.Approval == "destructive" && reads(t.Risk):
		f.bad("approval_mode", "destructive contradicts risk_level %s: use read_only, network or delegated", t.Risk)
	case t.Approval == "local_write" && t.Risk == "write_external":
		f.bad("approval_mode", "local_write contradicts risk_level write_external, which leaves the machine: use network, delegated or destructive")
	case t.Risk == "write_irreversible" && t.Approval != "delegated" && t.Approval != "destructive":
		f.bad("approval_mode", "%s contradicts risk_level write_irreversible: use delegated or destructive", t.Approval)
	}
}
