package derive

import (
	"bytes"
	"fmt"
	"strconv"

	"ctxfs/internal/record"
)

// largeOutput is the size from which a tool's output is a reference of its own, in bytes: a pack rarely shows it whole.
const largeOutput = 8 << 10

// output is a large output of a tool.
type output struct {
	n, block, bytes int
	call            string // what gave it
}

// called keeps what a call is until its result comes: its tool, and how its input starts.
func (s *State) called(b *record.Block) {
	if b.CallID != "" {
		s.calls[b.CallID] = b.Name + " " + oneLine(Excerpt(b.Input[:min(len(b.Input), 400)], 120))
	}
}

// output keeps what refs.jsonl says of a large output.
func (s *State) output(n, block int, b *record.Block) {
	if len(b.Text) >= largeOutput {
		s.outputs = append(s.outputs, output{n, block, len(b.Text), s.calls[b.CallID]})
	}
	delete(s.calls, b.CallID)
}

// outputRefs writes the lines of refs.jsonl for large outputs as of record upTo.
func (s *State) outputRefs(out *bytes.Buffer, upTo int) {
	for i, o := range s.outputs {
		if o.n <= upTo {
			line(out, Ref{ID: "o" + strconv.Itoa(i+1), Path: "context/swap/open/" + ref(o.n) + "." + strconv.Itoa(o.block), Kind: "tool_output",
				Summary: fmt.Sprintf("%d bytes, output of %s", o.bytes, orUnknown(o.call)), Source: ref(o.n)})
		}
	}
}

func orUnknown(call string) string {
	if call == "" {
		return "an unknown call"
	}
	return call
}
