package swap

import (
	"bytes"
	"encoding/json"
)

// Chunk is the content of swap/chunk/<id>: a stable reference into raw history, in the form that
// context-runtime-abi gives ("Swap"). Block is set when the chunk is one block of a record (a tool's output).
type Chunk struct {
	Source string `json:"source"`
	Start  string `json:"start_event"`
	End    string `json:"end_event"`
	Block  string `json:"block,omitempty"`
	Hash   string `json:"hash"`
	Open   string `json:"open"` // the path under the session where cat shows the bytes
}

// RangeChunk refers to the records of r, whose hash is h.
func RangeChunk(r Range, h Hash) Chunk {
	a, b := Range{r.A, r.A}, Range{r.B, r.B}
	return Chunk{Source: "messages.jsonl", Start: a.Ref(), End: b.Ref(), Hash: h.String(), Open: OpenPath(r.Ref())}
}

// BlockChunk refers to block k (from 1) of record n, whose text's hash is h.
func BlockChunk(n, k int, h Hash) Chunk {
	rec, block := Range{n, n}.Ref(), BlockRef(n, k)
	return Chunk{Source: "messages.jsonl", Start: rec, End: rec, Block: block, Hash: h.String(), Open: OpenPath(block)}
}

// Bytes is the file's content.
func (c Chunk) Bytes() []byte { return Line(c) }

// ID is the name of the chunk: the hash of its own bytes, so that a name means one reference for ever.
func (c Chunk) ID() string { return Sum(c.Bytes()).String() }

// BlockRef names block k of record n: "messages:12.2".
func BlockRef(n, k int) string { return Range{n, n}.Ref() + "." + Range{k, k}.String() }

// OpenPath is where under the session directory the thing named ref can be read whole.
func OpenPath(ref string) string { return "context/swap/open/" + ref }

// Row is a line of swap/index.jsonl.
type Row struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"` // message_range or tool_output
	Source  string `json:"source"`
	Range   string `json:"range,omitempty"`
	Event   string `json:"event,omitempty"`
	Summary string `json:"summary"`
	Tokens  int    `json:"tokens"`
	// Estimated says that Tokens is a guess: the range was not counted.
	Estimated bool `json:"tokens_estimated,omitempty"`
}

// Line is v as one line of JSON. The values of this package always marshal.
func Line(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return nil
	}
	return b.Bytes()
}
