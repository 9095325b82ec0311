// Package trace writes the records of Agent Context 0.1.0 about one pack: what was available, what was chosen, left out,
// cut, redacted, shown where, and what is missing. It is pure: everything comes from the pack, from what the pack is a
// function of, and from lines that agents and ctxfs wrote; what is not known is absent. The same inputs give the same bytes.
package trace

import (
	"ctxfs/internal/context/pack"
)

// Version is the version of Agent Context that the records follow ("schema_version").
const Version = "0.1.0"

// In is what the records of a context are a function of.
type In struct {
	Session   Session
	Pack      *pack.Pack
	Input     pack.Input
	Target    string // whom the pack is for: model, tool, reviewer, user
	File      string // of the pack, relative to the session: context/pack.md
	Producer  string // the version of ctxfs
	Tokenizer string
	// Created is the time of the newest record, RFC 3339; without one, when the session was made.
	Created string
	// Injections are the lines of context/injections.jsonl, and Missing those of context/missing.jsonl.
	Injections []Injection
	Missing    []Missing
	// Before are the items of the context that was shown last before this one; nil: none was declared.
	Before *Before
	// Compactions and Exports are the data of events of those kinds in events.jsonl, in their order.
	Compactions []Compaction
	Exports     []Export
	// Boundaries are the records that stand, by a runtime's own word, for all before them.
	Boundaries []int
	// Resolves tells whether a reference names something that is there: messages:12, child:rev-1, blake3-...
	Resolves func(ref string) bool
	// Mask masks the secrets of a text; nil masks nothing. It is for records: Injections, Missing, Compactions and Exports come
	// without secrets.
	Mask func(text string) string
	// PolicyRefs name the policy files that apply: "context/redact", "context/policy.json".
	PolicyRefs []string
	// Visible tells which targets may see a kind of item.
	Visible func(kind string) []string
}

// Session says whose context it is.
type Session struct {
	ID, Name, Agent, Scope string
	Model                  bool // Agent names a model
	UID                    int
}

// Trace is a context's records, made.
type Trace struct {
	ContextID string
	files     map[string][]byte
}

// Names are the files of a trace, in the order in which they are listed.
func Names() []string {
	return []string{"envelope.json", "surface.json", "items.jsonl", "sources.jsonl", "selection.json", "budget.json", "window.json", "assembly.json",
		"injections.jsonl", "compactions.jsonl", "summary.json", "missing.jsonl", "redactions.jsonl", "events.jsonl"}
}

// File gives one of Names.
func (t *Trace) File(name string) []byte { return t.files[name] }

// Build makes the records.
func Build(in In) (*Trace, error) {
	b := &builder{in: in, sources: map[string]bool{}, referred: map[Ref]bool{}, files: map[string][]byte{}}
	b.ctx = ContextID(in.Session.ID, in.Target, in.Pack, in.Input)
	for _, step := range []func() error{b.items, b.compactions, b.summary, b.missing, b.redactions, b.window, b.selection, b.assembly, b.injections, b.surface, b.envelope, b.events, b.finish} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return &Trace{ContextID: b.ctx, files: b.files}, nil
}
