package pack

import (
	"ctxfs/internal/context/recall"
	"ctxfs/internal/record"
)

// Input is what a pack is a function of, beside the folded log.
type Input struct {
	Session, Agent string
	Budget         int              // tokens
	Reserve        int              // tokens of the budget that the pack must leave free
	Query          string           // "" is the latest user message
	Target         string           // whom the pack is for; "" is TargetModel
	Visibility     Visibility       // which target sees what; nil: as by default
	Without        recall.Technique // left out of the ranking: for benchmarks
	History        record.History   // the records that were folded; lines are read again on demand
	Pinned         []File           // context/pinned/*, sorted by name
	Authored       Authored
	Children       []Child // context/child/*, sorted by id
	Rules          []File  // what shapes the pack and does not stand in it: context/policy.json, context/redact
	Imported       []File  // context/imported/*: working context that came from elsewhere
}

// File is a file of the session; Path as "context/pinned/system.md".
type File struct {
	Path string
	Data []byte
}

// Authored holds the files that an agent wrote itself in place of the derived ones; nil is derived.
type Authored struct{ Summary, Facts, Decisions, Todo, Refs []byte }

// Child is context/child/<ID>/.
type Child struct {
	ID, Status      string
	Result, Handoff []byte // result.md, handoff.md; nil when there is none
}

// Pack is a built pack: the two files, and what they were made of.
type Pack struct {
	Markdown, JSON []byte
	Tokens         int // of Markdown, counted whole
	Items          []Item
	Omitted        []Omitted
	Inputs         []Source
	Query, Asked   string // the start of the query, and where it comes from: given, messages:N, none
}

// Item is a part of the pack. Its fields are those of context-runtime-abi, "Context Pack".
type Item struct {
	Kind   string  `json:"kind"`
	Source string  `json:"source"`
	Range  string  `json:"range,omitempty"` // records, as "12-18"
	Tokens int     `json:"tokens"`          // as shown
	Digest         // of the source, whole
	Score  float64 `json:"score"`
	Parts  Scores  `json:"score_parts"`
	Cut    bool    `json:"cut,omitempty"` // shown in part; Path shows it whole
	Path   string  `json:"path,omitempty"`
	Note   string  `json:"note,omitempty"`
	// Masked are the secrets in it that are not shown.
	Masked []Masked `json:"masked,omitempty"`
	// Start and End are where it stands in the pack's Markdown, in bytes, its heading or fence aside for records.
	Start int `json:"-"`
	End   int `json:"-"`
}

// Masked says how many secrets were masked by a rule.
type Masked struct {
	Rule  string `json:"rule"`
	Count int    `json:"count"`
}

// Omitted is what the pack leaves out, or the part that a cut item leaves out.
type Omitted struct {
	Kind   string `json:"kind"`
	Source string `json:"source"`
	Range  string `json:"range,omitempty"` // records, or a block as "12.2"
	Tokens int    `json:"tokens"`          // what it would take
	// Estimated says that Tokens is a guess, as for records far back: all else is counted.
	Estimated bool `json:"tokens_estimated,omitempty"`
	Digest
	Score  float64 `json:"score"`
	Parts  Scores  `json:"score_parts"`
	Reason string  `json:"reason"`
	Path   string  `json:"path"` // where cat shows it whole, under the session
}

// Scores are the parts of a score, which is their sum.
type Scores struct {
	Floor     float64 `json:"floor,omitempty"`     // must be in: pinned files, the latest user message
	Authority float64 `json:"authority,omitempty"` // by kind: what the agent wrote, then what was derived
	Recency   float64 `json:"recency,omitempty"`   // the unbroken end of the log
	Working   float64 `json:"working,omitempty"`   // the newest content of a file that was touched lately; 1 is the last
	Relevance float64 `json:"relevance,omitempty"` // against the query, 1 is the best record
}

func (s Scores) sum() float64 {
	return round(s.Floor + s.Authority + s.Recency + s.Working + s.Relevance)
}

// round keeps four decimals: enough to compare, and the same text on every machine.
func round(f float64) float64 { return float64(int64(f*1e4+0.5)) / 1e4 }

// Source is an input of a pack, with what is needed to tell later whether it is still the same.
type Source struct {
	Source  string `json:"source"`
	Records int    `json:"records,omitempty"`
	Bytes   int64  `json:"bytes"`
	Digest
}

// The kinds of items. Those of context-runtime-abi, and "missing" and "error" for what could not be shown.
const (
	kindSystem    = "system"
	kindSummary   = "summary"
	kindFacts     = "facts"
	kindDecisions = "decisions"
	kindTodo      = "todo"
	kindRefs      = "refs"
	kindChild     = "child_result"
	kindRecent    = "recent_messages"
	kindRecalled  = "recalled_messages"
	kindPinned    = "pinned_ref"
	kindPart      = "tool_output_part"
	kindImported  = "imported"
	kindMissing   = "missing"
	kindError     = "error"
	messagesFile  = "messages.jsonl"
)

// Why something is out: Agent Context's words.
const (
	outBudget     = "budget_limit"
	outRelevance  = "low_relevance"
	outDuplicate  = "duplicate"
	outSuperseded = "superseded_by_summary"
	outStale      = "stale"
	outLarge      = "too_large"
	outPair       = "incomplete_tool_pair"
	outInvalid    = "invalid"
	outMissing    = "missing_context"
	outHidden     = "not_visible_to_target"
)
