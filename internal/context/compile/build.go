package compile

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ctxfs/internal/context/derive"
	"ctxfs/internal/context/pack"
	"ctxfs/internal/context/trace"
	"ctxfs/internal/record"
	"ctxfs/internal/swap"
)

const messages = "messages.jsonl"

// builder compiles step by step; each step reads what those before it left.
type builder struct {
	in       In
	items    map[string]int // selected items that are files, by kind and source
	ranges   []itemRange    // selected items that are records
	authored read
	safe     Authored               // the authored files, masked
	log      []seen                 // the records that were looked at, oldest first
	known    map[int]*record.Record // those that something cites; nil: the target may not see it
	lists    map[string][]line      // facts and decisions, as the target may see them
	notes    []string               // what was not looked at
	results  []result
	events   []event
	reviews  []Review
	credit   map[string]float64 // by id of a fact or a decision
	v2       PackV2
	entries  []Journal
	dated    []Moment
	files    map[string][]byte

	packID, version, snapshot string
	err                       error
}

type itemRange struct {
	r    swap.Range
	item int
}

// read is the authored files, taken apart.
type read struct {
	constraints []Constraint
	preferences []Preference
	success     []Criterion
	plan        []Step
	tools       []Tool
	policy      *Policy
	noPolicy    bool // there is one, and it cannot be read
	problems    []Unread
}

// Unread is an authored file that cannot be read, and why.
type Unread struct {
	Path  string `json:"path"`
	Error string `json:"error"`
}

func (b *builder) readAuthored() {
	a, r := b.safe, &b.authored
	var err error
	note := func(file string) bool {
		if err != nil {
			r.problems = append(r.problems, Unread{file, err.Error()})
		}
		return err != nil
	}
	r.constraints, err = ParseConstraints(a.Constraints)
	note(ConstraintsFile)
	r.preferences, err = ParsePreferences(a.Preferences)
	note(PreferencesFile)
	r.success, err = ParseSuccess(a.Success)
	note(SuccessFile)
	r.plan, err = ParsePlan(a.Plan)
	note(PlanFile)
	r.tools, err = ParseTools(a.Tools)
	note(ToolsFile)
	if a.Policy != nil {
		r.policy, err = ParsePolicy(a.Policy)
		r.noPolicy = note(PolicyFile)
	}
	if r.policy == nil {
		r.policy = &Policy{}
	}
}

// index remembers where the pack's items are.
func (b *builder) index() {
	for i := range b.in.Pack.Items {
		it := &b.in.Pack.Items[i]
		if r, err := swap.ParseRange(it.Range); it.Source == messages && err == nil {
			b.ranges = append(b.ranges, itemRange{r, i})
		} else if _, ok := b.items[it.Kind+" "+it.Source]; !ok {
			b.items[it.Kind+" "+it.Source] = i
		}
	}
}

func (b *builder) itemID(i int) string {
	it := &b.in.Pack.Items[i]
	return trace.ItemID(b.in.Session.ID, it.Kind, it.Source, it.Range+it.Note)
}

// target is whom the pack is for.
func (b *builder) target() string {
	if b.in.Input.Target == "" {
		return pack.TargetModel
	}
	return b.in.Input.Target
}

func (b *builder) sees(kind string) bool {
	return slices.Contains(b.in.Input.Visibility.Of(kind), b.target())
}

// shown returns the start of a text, in one line. The text has no secrets: what the builder reads is masked as it is read, whole,
// since a part of a secret is not found as one.
func shown(text string, size int) string {
	return strings.Join(strings.Fields(derive.Excerpt(text, size)), " ")
}

// name makes an id of what something is made of.
func name(prefix string, parts ...string) string {
	h := swap.Sum([]byte(strings.Join(parts, "\x00")))
	return prefix + "-" + hex.EncodeToString(h[:8])
}

func sorted[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// some is never null in JSON.
func some[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

func (b *builder) lines(file string, n int, at func(i int) any) {
	out := []byte{}
	for i := range n {
		out = append(out, swap.Line(at(i))...)
	}
	b.files[file] = out
}

// one writes a value as a file of its own, indented for people.
func (b *builder) one(file string, v any) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil && b.err == nil {
		b.err = fmt.Errorf("compile: %s: %w", file, err)
	}
	b.files[file] = out.Bytes()
}

// Canonical gives a value as compact JSON with the members of objects sorted by name, in UTF-8: what is hashed. Any value that
// JSON can hold has one such form; equal values have the same.
func Canonical(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var m any
	if err := d.Decode(&m); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(swap.Line(m), []byte("\n")), nil
}

func (b *builder) hash(v any) string {
	data, err := Canonical(v)
	if err != nil && b.err == nil {
		b.err = fmt.Errorf("compile: %w", err)
	}
	return swap.Sum(data).String()
}
