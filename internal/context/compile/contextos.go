package compile

import (
	"strings"

	"ctxfs/internal/context/trace"
)

// ContextOS is contextos.json: the ten layers (context-pack-spec, "ContextOS Compatibility").
type ContextOS struct {
	Contract     ContractMeta     `json:"contract_meta"`
	Pack         PackMeta         `json:"pack_meta"`
	Intelligence IntelligenceRefs `json:"intelligence_refs"`
	Business     Business         `json:"business_context"`
	Policy       PolicyLayer      `json:"policy_layer"`
	Tooling      ToolingLayer     `json:"tooling_layer"`
	Decision     DecisionLayer    `json:"decision_layer"`
	Memory       MemoryLayer      `json:"memory_layer"`
	Evaluation   EvaluationLayer  `json:"evaluation_layer"`
	Tone         Tone             `json:"tone_and_comms"`
}

// ContractMeta says what the document is, and by which hash it is known.
type ContractMeta struct {
	Contract string         `json:"contract"`
	Version  string         `json:"contract_version"`
	Schema   string         `json:"schema"`
	Hash     string         `json:"content_hash"` // over the canonical form with this member, pack_ref, version and producer empty
	PackRef  string         `json:"pack_ref"`     // pack_id@version: this content, for ever
	Producer trace.Producer `json:"producer"`
}

// PackMeta says which pack it is.
type PackMeta struct {
	PackID    string `json:"pack_id"`
	Version   string `json:"version"` // the first 16 hex digits of the content hash
	ContextID string `json:"context_id"`
	Session   string `json:"session"`
	Agent     string `json:"agent"`
	Target    string `json:"target"`
	CreatedAt string `json:"created_at"`
	Budget    Limits `json:"budget"`
	Used      Used   `json:"used"`
	Content   string `json:"content_ref"`
}

// IntelligenceRefs names what the pack knows from where.
type IntelligenceRefs struct {
	Snapshot  string   `json:"context_snapshot_hash"`
	Evidence  []string `json:"evidence_ids"`
	Memory    []string `json:"memory_ids"`
	Decisions []string `json:"decision_ids"`
	Sources   []Entry  `json:"evidence"`
	Trace     []string `json:"trace_refs"`
}

// Business is what the work is about.
type Business struct {
	Intent      *Intent        `json:"intent"`
	Constraints []Entry        `json:"constraints"`
	Preferences []Entry        `json:"preferences"`
	Loops       []Entry        `json:"open_loops"`
	Plan        []Entry        `json:"suggested_plan"`
	Episode     Episode        `json:"episode_state"`
	Routing     map[string]any `json:"routing_hints"`
}

// PolicyLayer is what holds.
type PolicyLayer struct {
	PolicyManifest
	Controls Runtime `json:"runtime_controls"`
}

// ToolingLayer is what the agent has, and on which terms.
type ToolingLayer struct {
	Tools       []Capability      `json:"tools"`
	Observed    []Observed        `json:"observed"`
	Permissions map[string]string `json:"permissions"`
	Approvals   map[string]string `json:"approval_modes"`
}

// DecisionLayer is what was decided.
type DecisionLayer struct {
	Decisions []Entry `json:"prior_decisions"`
}

// MemoryLayer is what is known, and how memory is kept.
type MemoryLayer struct {
	Facts    []Entry        `json:"durable_facts"`
	Policy   map[string]any `json:"memory_policy"`
	Defaults map[string]any `json:"memory_policy_defaults"`
}

// EvaluationLayer is how one can tell whether the work is done.
type EvaluationLayer struct {
	Targets []Entry `json:"evaluator_targets"`
	Review  string  `json:"review_ref"`
}

// Tone is how to speak, and to whom.
type Tone struct {
	Tone     map[string]any `json:"tone"`
	Audience []string       `json:"audience"`
}

// defaults are how ctxfs keeps memory when policy.json says nothing else.
func defaults() map[string]any {
	return map[string]any{"history": "append_only", "derived_files": "rebuilt_from_history", "agent_written_files": "until_unlinked", "secrets_in_packs": "masked"}
}

func (b *builder) contextos(m *Manifests, rt *Runtime, report *Report) {
	p, v := b.authored.policy, &b.v2
	d := ContextOS{
		Contract: ContractMeta{Contract: "contextos.context-pack", Version: SchemaVersion, Schema: "contextos-context-pack.v2.schema.json", Producer: trace.Producer{ID: "ctxfs", Version: b.in.Producer}},
		Pack: PackMeta{PackID: b.packID, ContextID: b.in.ContextID, Session: b.in.Session.ID, Agent: b.in.Session.Agent, Target: b.target(), CreatedAt: b.in.Created,
			Budget: report.Limits, Used: report.Used, Content: b.in.File},
		Intelligence: IntelligenceRefs{Snapshot: b.snapshot, Evidence: evidenceIDs(m), Memory: memoryIDs(v.Facts), Decisions: decisionIDs(v.Decisions), Sources: v.Evidence},
		Business:     Business{Intent: v.Intent, Constraints: v.Constraints, Preferences: v.Preferences, Loops: v.Loops, Plan: v.Plan, Episode: v.Episode, Routing: v.Routing},
		Policy:       PolicyLayer{m.Policy, *rt},
		Tooling:      ToolingLayer{m.Tool.Tools, m.Tool.Observed, map[string]string{}, map[string]string{}},
		Decision:     DecisionLayer{v.Decisions}, Memory: MemoryLayer{v.Facts, p.Memory, defaults()},
		Evaluation: EvaluationLayer{v.Success, "context/channels/review.jsonl"}, Tone: Tone{p.Tone, []string{b.target()}}}
	for _, f := range trace.Names() {
		d.Intelligence.Trace = append(d.Intelligence.Trace, "context/trace/"+f)
	}
	for _, t := range m.Tool.Tools {
		d.Tooling.Permissions[t.Name], d.Tooling.Approvals[t.Name] = t.Permission, t.Approval
	}
	if d.Memory.Policy == nil {
		d.Memory.Policy = map[string]any{}
	}
	if d.Tone.Tone == nil {
		d.Tone.Tone = map[string]any{}
	}
	d.Contract.Hash = b.hash(unsigned(&d))
	b.version = strings.TrimPrefix(d.Contract.Hash, "blake3-")[:16]
	d.Pack.Version, d.Contract.PackRef = b.version, b.packID+"@"+b.version
	b.one("contextos.json", &d)
}

// unsigned is the document without what is made of its hash. Who made it is no content either: another version of ctxfs that
// compiles the same gives the same pack_id@version.
func unsigned(d *ContextOS) ContextOS {
	c := *d
	c.Contract.Hash, c.Contract.PackRef, c.Pack.Version, c.Contract.Producer = "", "", "", trace.Producer{}
	return c
}
