package compile

import (
	"bytes"
	"encoding/json"

	"ctxfs/internal/swap"
)

// masked gives lines of JSON without secrets, in the names of members too, and maskedOne one value. Lines stay where they are;
// what is no JSON stays as it is, for nothing of it is shown.
func (b *builder) masked(data []byte) []byte {
	if b.in.Mask == nil || data == nil {
		return data
	}
	if _, found := b.in.Mask(string(data)); len(found) == 0 {
		return data
	}
	var out bytes.Buffer
	for l := range bytes.Lines(data) {
		if v, ok := decoded(l); ok {
			l = swap.Line(b.clean(v))
		}
		out.Write(l)
	}
	return out.Bytes()
}

func (b *builder) maskedOne(data []byte) []byte {
	v, ok := decoded(data)
	if b.in.Mask == nil || !ok {
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

// hide masks the authored files, and those of the session that are lines of JSON. Their hashes stay those of the exact bytes.
func (b *builder) hide() {
	a := b.in.Authored
	b.safe = Authored{b.masked(a.Constraints), b.masked(a.Preferences), b.masked(a.Success), b.masked(a.Plan), b.masked(a.Tools), b.maskedOne(a.Policy)}
	b.in.Facts, b.in.Decisions, b.in.Refs = b.masked(b.in.Facts), b.masked(b.in.Decisions), b.masked(b.in.Refs)
}
