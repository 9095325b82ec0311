package pack

import (
	"slices"

	"ctxfs/internal/record"
)

// The targets that a pack can be for (Agent Context, "Visibility targets"). "" is TargetModel.
const (
	TargetModel    = "model"
	TargetTool     = "tool"
	TargetReviewer = "reviewer"
	TargetUser     = "user"
)

// Targets lists them.
func Targets() []string { return []string{TargetModel, TargetTool, TargetReviewer, TargetUser} }

// KindThinking is what Visibility calls reasoning, which is no kind of item by itself.
const KindThinking = "thinking"

// KindInstructions is what a program sends to the model at the start of every session. Whoever gets the pack sends their own.
const KindInstructions = "instructions"

// Visibility says which targets may see a kind of item (system, summary, ..., and thinking); a kind that is not in it is seen
// as by default.
type Visibility map[string][]string

// Of lists the targets that may see a kind. By default reasoning and what is pinned as system text are between the model and
// the reviewer, instructions are for the reviewer; all else is for everybody.
func (v Visibility) Of(kind string) []string {
	if list, ok := v[kind]; ok {
		return list
	}
	switch kind {
	case kindSystem, KindThinking:
		return []string{TargetModel, TargetReviewer}
	case KindInstructions:
		return []string{TargetReviewer}
	}
	return Targets()
}

func (in *Input) target() string {
	if in.Target == "" {
		return TargetModel
	}
	return in.Target
}

// sees tells whether the target of the pack may see a kind.
func (in *Input) sees(kind string) bool { return slices.Contains(in.Visibility.Of(kind), in.target()) }

// limit notes from whom a record is kept.
func (w *Workset) limit(r *record.Record) {
	if r.Visibility == nil {
		return
	}
	for _, t := range Targets() {
		if !slices.Contains(r.Visibility, t) {
			w.hidden[t] = append(w.hidden[t], uint32(r.N))
		}
	}
}

// isHidden tells whether record n is kept from a target, and hidesAny whether one of the first upTo is: what is derived
// from the log may then say what the target must not see.
func (w *Workset) isHidden(n int, target string) bool {
	_, is := slices.BinarySearch(w.hidden[target], uint32(n))
	return is
}

func (w *Workset) hidesAny(upTo int, target string) bool {
	return countUpTo(w.hidden[target], upTo) > 0
}

// keeps tells whether block i of r is kept from the target.
func (f *flow) keeps(r *record.Record, i int) bool {
	return f.w.isHidden(r.N, f.target) || r.Blocks[i].Kind == record.Thinking && f.noThinking
}

// skips reports whether record n is in no pack: it could not be read, or is instructions and the target sees none.
func (w *Workset) skips(n int, noStartup bool) bool {
	return w.isBad(n) || noStartup && w.metas[n-1].flags&flagInstructions != 0
}

// Compactions lists the records that stand, by a runtime's own word, for all before them.
func (w *Workset) Compactions() (out []int) {
	for _, n := range w.compact {
		out = append(out, int(n))
	}
	return out
}
