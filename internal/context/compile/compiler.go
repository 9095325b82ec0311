package compile

import (
	"fmt"
	"slices"

	"ctxfs/internal/context/trace"
	"ctxfs/internal/swap"
)

// Envelope is compiler.json: the CompilerOutputEnvelope (context-pack-spec, "Compiler Diagnostics").
type Envelope struct {
	Version   string         `json:"schema_version"`
	CompileID string         `json:"compile_id"`
	PackID    string         `json:"pack_id"`
	PackRef   string         `json:"pack_ref"` // pack_id@version
	ContextID string         `json:"context_id"`
	CreatedAt string         `json:"created_at"`
	Producer  trace.Producer `json:"producer"`
	Manifests Manifests      `json:"manifests"`
	Controls  Runtime        `json:"runtime_controls"`
	Budget    Report         `json:"budget_report"`
	Ledger    Ledger         `json:"context_ledger"`
	Channels  map[string]Has `json:"channels"`
}

// Runtime is what a runtime has to keep to.
type Runtime struct {
	Target     string   `json:"target"`
	Max        int      `json:"max_tokens"`
	Reserved   int      `json:"reserved_tokens"`
	Tokenizer  string   `json:"tokenizer"`
	Overflow   string   `json:"overflow_strategy"`
	Denied     []string `json:"denied"`            // tools and actions
	Approval   []string `json:"approval_required"` // tools and actions
	Redaction  string   `json:"redaction_state"`
	Visibility []string `json:"visibility"`
}

// Report says how the tokens were used.
type Report struct {
	Limits   Limits           `json:"limits"`
	Used     Used             `json:"used"`
	ByKind   map[string]Share `json:"by_kind"`
	Dropped  Left             `json:"dropped"`
	Warnings []string         `json:"warnings"`
}

// Limits, in tokens.
type Limits struct {
	Max       int `json:"max_tokens"`
	Reserved  int `json:"reserved_tokens"`
	Available int `json:"available_tokens"`
}

// Used is what the pack and pack.v2.json take, in tokens.
type Used struct {
	Pack     int `json:"pack_tokens"`
	PackV2   int `json:"pack_v2_tokens"`
	Headings int `json:"headings_tokens"` // of the pack: what is in no item
}

// Share is what the items of one kind take.
type Share struct {
	Items  int `json:"items"`
	Tokens int `json:"tokens"`
}

// Left is what is out: of the pack, by reason, and of pack.v2.json.
type Left struct {
	Pack       map[string]Share `json:"pack"`
	PackV2     map[string]int   `json:"pack_v2"`
	Provenance int              `json:"pack_v2_provenance"`
}

// Ledger is the context_ledger: one compile, to replay it by.
type Ledger struct {
	PackID    string   `json:"pack_id"`
	PackRef   string   `json:"pack_ref"`
	ContextID string   `json:"context_id"`
	Request   Request  `json:"request"`
	Inputs    []Digest `json:"inputs"`
	Rules     []string `json:"policy_rules"`
	Tools     []string `json:"tool_capabilities"`
	Evidence  []string `json:"evidence_ids"`
	Memory    []string `json:"memory_block_ids"`
	Decisions []string `json:"decision_ids"`
	Warnings  []string `json:"budget_warnings"`
	Dropped   []string `json:"dropped_block_ids"`
	Snapshot  string   `json:"context_snapshot_hash"`
}

// Request is what the pack was made for.
type Request struct {
	Text   string `json:"text,omitempty"`
	Source string `json:"source"` // messages:N, given, none
}

// Digest is an input and its hash.
type Digest struct {
	Path string `json:"path"`
	Hash string `json:"digest"`
	Of   string `json:"digest_of,omitempty"` // "" is the bytes at Path
}

// Has says what a channel holds.
type Has struct {
	Entries int    `json:"entries"`
	Limit   int    `json:"limit"`
	From    string `json:"from,omitempty"` // the first record that was looked at
}

// compiler makes compiler.json and contextos.json. The snapshot's hash is over all that was compiled; the version is made of
// that of the projection, which holds the snapshot's.
func (b *builder) compiler() {
	m := b.manifests()
	rt, report := b.runtime(&m), b.report()
	inputs := b.inputs()
	b.snapshot = b.hash(map[string]any{"inputs": inputs, "pack": swap.Sum(b.in.Pack.Markdown).String(), "pack_v2": swap.Sum(b.files["pack.v2.json"]).String(), "manifests": m, "runtime_controls": rt, "budget_report": report})
	b.contextos(&m, &rt, &report)
	ref := b.packID + "@" + b.version
	e := Envelope{Version: SchemaVersion, CompileID: name("compile", b.snapshot), PackID: b.packID, PackRef: ref, ContextID: b.in.ContextID, CreatedAt: b.in.Created,
		Producer: trace.Producer{ID: "ctxfs", Version: b.in.Producer}, Manifests: m, Controls: rt, Budget: report, Channels: map[string]Has{}}
	e.Ledger = Ledger{PackID: b.packID, PackRef: ref, ContextID: b.in.ContextID, Request: Request{b.in.Pack.Query, b.in.Pack.Asked}, Inputs: inputs, Rules: ruleIDs(m.Policy.Rules),
		Tools: exposed(m.Tool.Tools), Evidence: evidenceIDs(&m), Memory: memoryIDs(b.v2.Facts), Decisions: decisionIDs(b.v2.Decisions), Warnings: report.Warnings,
		Dropped: b.dropped(), Snapshot: b.snapshot}
	b.journal()
	b.timeline()
	e.Channels["channels/journal.jsonl"] = b.has(len(b.entries), maxJournal)
	e.Channels["channels/review.jsonl"] = b.has(len(b.reviews), maxReviews)
	e.Channels["channels/timeline.jsonl"] = b.has(len(b.dated), maxTimeline)
	b.one("compiler.json", e)
}

func (b *builder) has(entries, limit int) Has {
	h := Has{Entries: entries, Limit: limit}
	if n := b.in.Input.History.Len(); n > 0 {
		h.From = msgRef(max(1, n-maxScan+1))
	}
	return h
}

// inputs are what the pack is a function of, and the authored files.
func (b *builder) inputs() []Digest {
	out := []Digest{}
	for _, s := range b.in.Pack.Inputs {
		d := Digest{Path: s.Source, Hash: s.Value()}
		switch {
		case s.Tree != "":
			d.Of = "the lines, as a hash tree"
		case s.Source == messages:
			d.Of = fmt.Sprintf("the first %d lines", s.Records)
		case s.Source == "query":
			d.Of = "the query"
		}
		out = append(out, d)
	}
	a := b.in.Authored
	for _, f := range []struct {
		path string
		data []byte
	}{{ConstraintsFile, a.Constraints}, {PreferencesFile, a.Preferences}, {SuccessFile, a.Success}, {PlanFile, a.Plan}, {ToolsFile, a.Tools}, {PolicyFile, a.Policy}} {
		if f.data != nil {
			out = append(out, Digest{Path: f.path, Hash: swap.Sum(f.data).String()})
		}
	}
	return out
}

func (b *builder) runtime(m *Manifests) Runtime {
	r := Runtime{Target: b.target(), Max: b.in.Input.Budget, Reserved: b.in.Input.Reserve, Tokenizer: b.in.Tokenizer, Overflow: "defer_to_retrieval", Denied: slices.Clone(m.Policy.Denied),
		Approval: []string{}, Redaction: "none", Visibility: []string{b.target()}}
	if len(m.Policy.Masked) > 0 {
		r.Redaction = "masked"
	}
	for _, t := range m.Tool.Tools {
		if t.Permission == "deny" && !slices.Contains(r.Denied, t.Name) {
			r.Denied = append(r.Denied, t.Name)
		} else if t.Permission == "require_approval" {
			r.Approval = append(r.Approval, t.Name)
		}
	}
	for _, a := range m.Policy.Allowed {
		if a.Approval && !slices.Contains(r.Approval, a.Action) {
			r.Approval = append(r.Approval, a.Action)
		}
	}
	return r
}

func (b *builder) report() Report {
	in := b.in.Input
	r := Report{Limits: Limits{in.Budget, in.Reserve, max(0, in.Budget-in.Reserve)}, ByKind: map[string]Share{}, Warnings: []string{},
		Dropped: Left{Pack: map[string]Share{}, PackV2: map[string]int{}, Provenance: b.v2.Budget.Lost}}
	sum, cut := 0, 0
	for i := range b.in.Pack.Items {
		it := &b.in.Pack.Items[i]
		s := r.ByKind[it.Kind]
		r.ByKind[it.Kind] = Share{s.Items + 1, s.Tokens + it.Tokens}
		sum += it.Tokens
		if it.Cut {
			cut++
		}
	}
	r.Used = Used{b.in.Pack.Tokens, b.v2.Budget.Used, max(0, b.in.Pack.Tokens-sum)}
	for i := range b.in.Pack.Omitted {
		o := &b.in.Pack.Omitted[i]
		s := r.Dropped.Pack[o.Reason]
		r.Dropped.Pack[o.Reason] = Share{s.Items + 1, s.Tokens + o.Tokens}
	}
	for i := range b.v2.Dropped {
		r.Dropped.PackV2[b.v2.Dropped[i].Reason]++
	}
	for _, n := range b.v2.Budget.Beyond {
		r.Dropped.PackV2["too_many"] += n
	}
	if n := r.Dropped.Pack["budget_limit"].Items; n > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("pack: %d items are left out for the budget", n))
	}
	if cut > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("pack: %d items are cut", cut))
	}
	for _, w := range b.v2.Budget.Warnings {
		r.Warnings = append(r.Warnings, "pack.v2: "+w)
	}
	return r
}

// dropped names what is out of the pack, and then what is out of pack.v2.json.
func (b *builder) dropped() []string {
	out := []string{}
	for i := range b.in.Pack.Omitted {
		out = append(out, trace.OmittedID(b.in.Session.ID, b.in.Pack, &b.in.Pack.Omitted[i]))
	}
	for i := range b.v2.Dropped {
		out = append(out, b.v2.Dropped[i].Section+"/"+b.v2.Dropped[i].ID)
	}
	return out
}

func ruleIDs(list []Control) []string {
	out := []string{}
	for i := range list {
		out = append(out, list[i].ID)
	}
	return out
}

func exposed(list []Capability) []string {
	out := []string{}
	for i := range list {
		if list[i].Exposed {
			out = append(out, list[i].Name)
		}
	}
	return out
}

func evidenceIDs(m *Manifests) []string {
	out := []string{}
	for i := range m.Evidence.Selected {
		out = append(out, m.Evidence.Selected[i].ItemID)
	}
	return out
}

func memoryIDs(list []Entry) []string {
	out := []string{}
	for i := range list {
		out = append(out, list[i].MemoryID)
	}
	return out
}

func decisionIDs(list []Entry) []string {
	out := []string{}
	for i := range list {
		out = append(out, list[i].DecisionID)
	}
	return out
}
