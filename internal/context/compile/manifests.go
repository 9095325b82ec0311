package compile

import (
	"fmt"
	"slices"

	"ctxfs/internal/context/pack"
)

// Manifests are those of compiler.json: what the policy is, which evidence was chosen, which tools are exposed and why.
type Manifests struct {
	Policy   PolicyManifest   `json:"policy_manifest"`
	Evidence EvidenceManifest `json:"evidence_manifest"`
	Tool     ToolManifest     `json:"tool_manifest"`
}

// PolicyManifest says which rules were active.
type PolicyManifest struct {
	Files      []string            `json:"policy_refs"`
	Rules      []Control           `json:"rules"`
	Allowed    []Action            `json:"allowed_actions"`
	Denied     []string            `json:"denied_actions"`
	Visibility map[string][]string `json:"visibility"` // who sees which kind: as the policy says, else the defaults
	Masked     map[string]int      `json:"masked"`     // secrets in the pack that are not shown, by rule
	Retention  map[string]any      `json:"retention"`
	Unread     []Unread            `json:"unread"` // authored files that cannot be read
}

// EvidenceManifest says what of the log and of files is in the pack, and what is not.
type EvidenceManifest struct {
	Selected []Evidence     `json:"selected"`
	Omitted  map[string]int `json:"omitted_by_reason"`
}

// Evidence is an item of the pack.
type Evidence struct {
	ItemID string `json:"item_id"`
	Kind   string `json:"kind"`
	pack.Digest
	Tokens int         `json:"tokens"`
	Score  float64     `json:"score"`
	Parts  pack.Scores `json:"score_parts"`
	Prov
}

// ToolManifest lists capabilities.
type ToolManifest struct {
	Tools    []Capability `json:"tools"`
	Observed []Observed   `json:"observed"`
}

// Capability is a tool that was declared, or a file of the session that works as one.
type Capability struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Class       string         `json:"capability_class"`
	Risk        string         `json:"risk_level"`
	Approval    string         `json:"approval_mode"`
	Exposed     bool           `json:"exposed"`
	Permission  string         `json:"permission"` // allow, deny, require_approval
	Why         string         `json:"why"`
	Rules       []string       `json:"policy_rules"`
	Metadata    map[string]any `json:"metadata,omitempty"`
	Prov
}

// Observed is a tool that the log's newest records call and nobody declared: nothing is known of what it may do.
type Observed struct {
	Name  string `json:"name"`
	Calls int    `json:"calls"`
	Prov         // of its newest call
}

func (b *builder) manifests() Manifests {
	p := b.authored.policy
	m := Manifests{Policy: PolicyManifest{Files: some(b.in.PolicyRefs), Rules: b.v2.Controls, Allowed: b.v2.Allowed, Denied: some(p.Denied), Visibility: map[string][]string{},
		Masked: maskedOf(b.in.Pack.Items), Retention: p.Retention, Unread: some(b.authored.problems)}}
	if m.Policy.Retention == nil {
		m.Policy.Retention = map[string]any{}
	}
	if b.in.Authored.Policy != nil && !slices.Contains(m.Policy.Files, PolicyFile) {
		m.Policy.Files = append(slices.Clone(m.Policy.Files), PolicyFile)
	}
	for _, k := range Kinds() {
		m.Policy.Visibility[k] = some(b.in.Input.Visibility.Of(k))
	}
	m.Evidence = EvidenceManifest{Selected: []Evidence{}, Omitted: map[string]int{}}
	for i := range b.in.Pack.Items {
		it := &b.in.Pack.Items[i]
		m.Evidence.Selected = append(m.Evidence.Selected, Evidence{b.itemID(i), it.Kind, it.Digest, it.Tokens, it.Score, it.Parts, b.itemProv(i)})
	}
	for i := range b.in.Pack.Omitted {
		m.Evidence.Omitted[b.in.Pack.Omitted[i].Reason]++
	}
	m.Tool = ToolManifest{Tools: b.tools(), Observed: b.observed()}
	return m
}

// own are the session's files that answer like tools.
func own() []Tool {
	return []Tool{{Name: "context/recall/", Description: "the records that match a query: context/recall/QUERY.md", Capability: "recall", Risk: "read_safe", Approval: "read_only"},
		{Name: "context/swap/open/", Description: "what is out of the pack, whole: context/swap/open/messages:12", Capability: "recall", Risk: "read_safe", Approval: "read_only"}}
}

// tools gives what is declared, and whether it is exposed: deny wins over require_approval, and that over nothing said.
func (b *builder) tools() []Capability {
	out := []Capability{}
	for _, t := range own() {
		c := b.permitted(&t, "the session's folder has it")
		c.Path = t.Name
		out = append(out, c)
	}
	for i := range b.authored.tools {
		t := &b.authored.tools[i]
		if t.Visibility != nil && !slices.Contains(t.Visibility, b.target()) {
			continue
		}
		c := b.permitted(t, fmt.Sprintf("%s, line %d, declares it", ToolsFile, t.Line))
		c.Prov = b.fileProv(ToolsFile, t.Line, t.Source)
		out = append(out, c)
	}
	return out
}

func (b *builder) permitted(t *Tool, why string) Capability {
	c := Capability{Name: t.Name, Description: shown(t.Description, maxExcerpt), Class: t.Capability, Risk: t.Risk, Approval: t.Approval, Exposed: true, Permission: "allow",
		Rules: []string{}, Metadata: known(t.Extra)}
	say := "; no rule is about it"
	p := b.authored.policy
	if slices.Contains(p.Denied, t.Name) {
		c.Exposed, c.Permission, say = false, "deny", "; denied_actions names it"
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		if !r.onTool(t) {
			continue
		}
		c.Rules = append(c.Rules, r.ID)
		switch {
		case r.Effect == "deny":
			c.Exposed, c.Permission, say = false, "deny", "; rule "+r.ID+" denies it"
		case r.Effect == "require_approval" && c.Permission != "deny":
			c.Permission, say = "require_approval", "; rule "+r.ID+" wants approval"
		case r.Effect == "allow" && c.Permission == "allow":
			say = "; rule " + r.ID + " allows it"
		}
	}
	if b.authored.noPolicy {
		c.Exposed, c.Permission, say = false, "deny", "; "+PolicyFile+" cannot be read, so nothing is exposed"
	}
	c.Why = why + say
	return c
}

// maxObserved is how many undeclared tools are listed: those called last.
const maxObserved = 64

func (b *builder) observed() []Observed {
	declared := map[string]bool{}
	for i := range b.authored.tools {
		declared[b.authored.tools[i].Name] = true
	}
	out := []Observed{}
	at := map[string]int{}
	for i := len(b.log) - 1; i >= 0; i-- {
		r := &b.log[i]
		if len(r.Calls()) == 0 {
			continue
		}
		for k := range r.Blocks {
			c := &r.Blocks[k]
			if c.Name == "" || declared[c.Name] || c.Input == "" {
				continue
			}
			if j, ok := at[c.Name]; ok {
				out[j].Calls++
			} else if len(out) < maxObserved {
				at[c.Name] = len(out)
				out = append(out, Observed{shown(c.Name, MaxName), 1, b.recordProv(r.N)})
			}
		}
	}
	return out
}
