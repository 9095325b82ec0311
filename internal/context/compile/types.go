package compile

import (
	"ctxfs/internal/context/pack"
	"ctxfs/internal/context/trace"
)

// SchemaVersion is that of pack.v2.json, compiler.json and contextos.json.
const SchemaVersion = "2.0"

// Prov is where something comes from: the file that holds it and the place in it, the reference that it gives itself, and the
// records of the trace about it where it is in the pack.
type Prov struct {
	Path     string          `json:"path"`
	Anchor   *trace.Selector `json:"anchor,omitempty"`
	Source   string          `json:"source,omitempty"`
	ItemID   string          `json:"item_id,omitempty"`
	SourceID string          `json:"source_id,omitempty"`
}

// Entry is one thing that a section of the pack holds.
type Entry struct {
	ID         string   `json:"id"`
	Kind       string   `json:"kind,omitempty"` // of evidence: the pack's; of open loops: todo, missing, unanswered, call
	Text       string   `json:"text"`
	Score      float64  `json:"score"`
	Origin     string   `json:"origin"` // authored, agent, derived, log
	Status     string   `json:"status,omitempty"`
	Severity   string   `json:"severity,omitempty"`
	Weight     *float64 `json:"weight,omitempty"`
	Check      string   `json:"check,omitempty"`
	AppliesTo  []string `json:"applies_to,omitempty"`
	DependsOn  []string `json:"depends_on,omitempty"`
	MemoryID   string   `json:"memory_id,omitempty"`   // a line of facts.jsonl
	DecisionID string   `json:"decision_id,omitempty"` // a line of decisions.jsonl
	MissingID  string   `json:"missing_id,omitempty"`
	pack.Digest
	Tokens   int            `json:"tokens"` // of Text
	Metadata map[string]any `json:"metadata,omitempty"`
	Prov
}

// PackV2 is pack.v2.json (context-pack-spec, "Main Fields").
type PackV2 struct {
	Version     string         `json:"schema_version"`
	PackID      string         `json:"pack_id"`
	ContextID   string         `json:"context_id"`
	Session     string         `json:"session"`
	Agent       string         `json:"agent"`
	Target      string         `json:"target"`
	CreatedAt   string         `json:"created_at"`
	Budget      BudgetV2       `json:"budget"`
	Intent      *Intent        `json:"intent"`
	Constraints []Entry        `json:"constraints"`
	Preferences []Entry        `json:"preferences"`
	Facts       []Entry        `json:"durable_facts"`
	Evidence    []Entry        `json:"relevant_evidence"`
	Decisions   []Entry        `json:"prior_decisions"`
	Loops       []Entry        `json:"open_loops"`
	Episode     Episode        `json:"episode_state"`
	Plan        []Entry        `json:"suggested_plan"`
	Allowed     []Action       `json:"allowed_actions"`
	Success     []Entry        `json:"success_criteria"`
	Controls    []Control      `json:"policy_controls"`
	Routing     map[string]any `json:"routing_hints"`
	Dropped     []Dropped      `json:"dropped"`
}

// BudgetV2 is what pack.v2.json may take and what its entries take, in tokens.
type BudgetV2 struct {
	Max       int            `json:"max_tokens"` // the pack's budget without its reserve
	Used      int            `json:"used_tokens"`
	Lost      int            `json:"provenance_dropped"`
	Beyond    map[string]int `json:"beyond_limits"` // of each section, entries that it has no place for: they stand in its file
	Tokenizer string         `json:"tokenizer"`
	Warnings  []string       `json:"warnings"`
}

// Intent is what the agent was asked.
type Intent struct {
	Text string `json:"text"`
	Prov
}

// Episode is where the work stands.
type Episode struct {
	State     string    `json:"state,omitempty"`
	Records   int       `json:"records"`
	FirstTime string    `json:"first_time,omitempty"`
	LastTime  string    `json:"last_time,omitempty"`
	LastUser  *Intent   `json:"last_user_message,omitempty"`
	LastAgent *Intent   `json:"last_agent_message,omitempty"`
	Runs      []Run     `json:"runs"`
	Files     []Working `json:"working_files"`
}

// Run is what events say of a run.
type Run struct {
	ID      string `json:"run"`
	Status  string `json:"status"` // started, or how it ended
	Started string `json:"started_at,omitempty"`
	Ended   string `json:"ended_at,omitempty"`
	Prov
}

// Working is a file that tool calls named lately, by refs.jsonl.
type Working struct {
	ID   string `json:"id"`
	File string `json:"file"`
	Note string `json:"note,omitempty"`
	Prov
}

// Action is something that the policy allows in so many words.
type Action struct {
	Action   string   `json:"action"`
	Approval bool     `json:"approval_required"`
	Rules    []string `json:"policy_rules"`
	Prov
}

// Control is a rule of the policy, or a file of rules that ctxfs keeps to.
type Control struct {
	ID        string         `json:"id"`
	Effect    string         `json:"effect"`
	AppliesTo []string       `json:"applies_to"`
	Reason    string         `json:"reason,omitempty"`
	Metadata  map[string]any `json:"metadata,omitempty"`
	Prov
}

// Dropped is what was left out to stay within the budget: its provenance, without its text.
type Dropped struct {
	ID      string  `json:"id"`
	Section string  `json:"section"`
	Score   float64 `json:"score"`
	Tokens  int     `json:"tokens"`
	Reason  string  `json:"reason"` // budget_limit, stale: another line replaces it
	Prov
}

// masked adds up what is masked in the pack, by rule.
func maskedOf(items []pack.Item) map[string]int {
	out := map[string]int{}
	for i := range items {
		for _, m := range items[i].Masked {
			out[m.Rule] += m.Count
		}
	}
	return out
}
