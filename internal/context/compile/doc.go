// Package compile makes of a pack, of its trace and of what agents and people wrote down what a governed runtime takes in: a
// ContextPackV2, the compiler's diagnostics about it, its ten-layer projection for ContextOS, and the channels by which
// long work goes on without its history (context-pack-spec). It also reads and checks the authored files. It is pure: no clock,
// no file; the same inputs give the same bytes. What nothing says is absent or empty, never made up.
package compile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"ctxfs/internal/context/pack"
	"ctxfs/internal/context/trace"
	"ctxfs/internal/record"
)

// In is what the files are a function of.
type In struct {
	Session   trace.Session
	ContextID string // the trace's
	Pack      *pack.Pack
	Input     pack.Input // that the pack was built from: its budget, its history, whom it is for and who sees what
	File      string     // of the pack, relative to the session
	Producer  string     // the version of ctxfs
	Tokenizer string
	Count     func(text string) int // tokens; required
	Mask      pack.MaskFunc         // nil: nothing is masked
	Records   record.History        // the history without secrets; nil: Input.History
	Created   string                // as trace.In's
	State     string                // of the session, as in its state file; "" is what its events say

	// Facts, Decisions, Todo and Refs are those files as they are shown: an agent's own, else derived and masked.
	Facts, Decisions, Todo, Refs []byte
	Authored                     Authored
	// Events are lines of events.jsonl; FirstEvent is the number of the first of them, 0 is 1. The newest ones do.
	Events     [][]byte
	FirstEvent int
	// Boundaries, Compactions, Injections and PolicyRefs are trace.In's; Missing are all gaps, as in trace/missing.jsonl.
	Boundaries  []int
	Compactions []trace.Compaction
	Injections  []trace.Injection
	Missing     []trace.Missing
	PolicyRefs  []string
}

// Of gives what the trace of a pack and what it was made of say; all that stands in In below Created, Count and Mask are for
// the caller to add.
func Of(ti trace.In, t *trace.Trace) (In, error) {
	in := In{Session: ti.Session, ContextID: t.ContextID, Pack: ti.Pack, Input: ti.Input, File: ti.File, Producer: ti.Producer, Tokenizer: ti.Tokenizer, Created: ti.Created,
		Boundaries: ti.Boundaries, Compactions: ti.Compactions, Injections: ti.Injections, PolicyRefs: ti.PolicyRefs}
	for l := range bytes.Lines(t.File("missing.jsonl")) {
		var m trace.Missing
		if err := json.Unmarshal(l, &m); err != nil {
			return in, fmt.Errorf("compile: trace/missing.jsonl: %w", err)
		}
		in.Missing = append(in.Missing, m)
	}
	return in, nil
}

// Out is what was compiled.
type Out struct {
	PackID   string // of the session's packs for this target
	Version  string // made of the content hash of contextos.json
	Snapshot string // the context_snapshot_hash
	files    map[string][]byte
}

// Names are the files, relative to context/trace/ but for the channels, which are relative to context/.
func Names() []string {
	return []string{"pack.v2.json", "compiler.json", "contextos.json", "channels/journal.jsonl", "channels/review.jsonl", "channels/timeline.jsonl"}
}

// File gives one of Names.
func (o *Out) File(name string) []byte { return o.files[name] }

// Build compiles. An authored file that cannot be read is told of in compiler.json and counts as absent; without a policy that
// can be read no tool is exposed.
func Build(in In) (*Out, error) {
	if in.Count == nil || in.Pack == nil || in.Input.History == nil {
		return nil, errors.New("compile: a pack, its history and a count of tokens are needed")
	}
	if in.Records == nil {
		in.Records = in.Input.History
	}
	b := &builder{in: in, items: map[string]int{}, known: map[int]*record.Record{}, lists: map[string][]line{}, files: map[string][]byte{}}
	b.index()
	b.hide()
	b.readAuthored()
	if err := b.scan(); err != nil {
		return nil, err
	}
	b.readEvents()
	b.review()
	b.packV2()
	b.compiler()
	b.channels()
	return &Out{PackID: b.packID, Version: b.version, Snapshot: b.snapshot, files: b.files}, b.err
}
