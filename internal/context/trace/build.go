package trace

import (
	"bytes"
	"encoding/json"
	"fmt"

	"ctxfs/internal/record"
	"ctxfs/internal/swap"
)

// builder makes a trace step by step; each step reads what those before it left.
type builder struct {
	in    In
	ctx   string
	files map[string][]byte

	all       []Item          // selected, then omitted, then what compactions replaced
	chosen    []string        // ids of the selected ones, in the order of the pack
	out       []OmittedRef    //
	sources   map[string]bool // those that are written
	sourceIDs []string
	cuts      map[string][]Truncation // by the item that is cut
	runtime   []Ref                   // sessions, threads, turns, ... that the chosen records name
	telemetry []Ref
	actors    []Ref // models that the chosen records name
	tools     []Ref // that they call
	referred  map[Ref]bool
	evidence  []cite
	segments  []Segment
	asm       Assembly
	gaps      []Missing
	masked    []Redacted
	shown     []Injection
	compacted []Compaction
	digest    Summary
}

// lines writes values as JSON lines.
func lines[T any](list []T) []byte {
	var out bytes.Buffer
	for i := range list {
		out.Write(swap.Line(list[i]))
	}
	return out.Bytes()
}

// one writes a value as a file of its own, indented for people.
func (b *builder) one(name string, v any) error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("trace/%s: %w", name, err)
	}
	b.files[name] = out.Bytes()
	return nil
}

// hide masks the names and ids of r. Its words, of which a trace repeats nothing, it drops.
func (b *builder) hide(r *record.Record, ids *record.IDs) {
	if b.in.Mask == nil {
		return
	}
	for i := range r.Blocks {
		r.Blocks[i].Text, r.Blocks[i].Input = "", ""
	}
	r.Map(b.in.Mask)
	ids.Map(b.in.Mask)
}

func (b *builder) targets(kind string) []string {
	if b.in.Visible == nil {
		return []string{b.in.Target}
	}
	return b.in.Visible(kind)
}

// list is never null in JSON.
func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}
