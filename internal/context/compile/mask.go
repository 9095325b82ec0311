package compile

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"ctxfs/internal/swap"
)

// masked masks lines of JSON, and maskedOne one value. First each line as it is, where the name of a member tells that its value
// is a secret; then each string, as a reader decodes it. Lines stay where they are; what is no JSON stays as it is, since
// nothing of it is shown.
func (b *builder) masked(data []byte) []byte {
	if b.in.Mask == nil || data == nil {
		return data
	}
	var out bytes.Buffer
	for l := range bytes.Lines(data) {
		out.Write(b.maskedOne(l))
	}
	return out.Bytes()
}

func (b *builder) maskedOne(data []byte) []byte {
	if b.in.Mask == nil {
		return data
	}
	text, found := b.in.Mask(string(data))
	if len(found) == 0 && !strings.Contains(text, `\`) {
		return data // the strings are what stands there
	}
	v, ok := decoded([]byte(text))
	if !ok {
		return data
	}
	return swap.Line(b.clean(v))
}

func decoded(data []byte) (v any, ok bool) {
	if members(data) == nil {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return v, d.Decode(&v) == nil
}

// clean masks the strings of a value.
func (b *builder) clean(v any) any {
	switch x := v.(type) {
	case string:
		x, _ = b.in.Mask(x)
		return x
	case []any:
		for i := range x {
			x[i] = b.clean(x[i])
		}
	case map[string]any:
		out := make(map[string]any, len(x))
		for _, k := range sorted(x) {
			name, _ := b.in.Mask(k)
			out[name] = b.clean(x[k])
		}
		return out
	}
	return v
}

// hide masks all that is shown of files and of events. Hashes of authored files stay those of their exact bytes.
func (b *builder) hide() {
	a := b.in.Authored
	b.safe = Authored{b.masked(a.Constraints), b.masked(a.Preferences), b.masked(a.Success), b.masked(a.Plan), b.masked(a.Tools), b.maskedOne(a.Policy)}
	b.in.Facts, b.in.Decisions, b.in.Refs = b.masked(b.in.Facts), b.masked(b.in.Decisions), b.masked(b.in.Refs)
	if b.in.Mask != nil {
		todo, _ := b.in.Mask(string(b.in.Todo))
		b.in.Todo = []byte(todo)
		b.in.Missing = slices.Clone(b.in.Missing)
		for i := range b.in.Missing {
			m := &b.in.Missing[i]
			m.Question, _ = b.in.Mask(m.Question)
		}
	}
}
