package serve

import (
	"bytes"
	"encoding/json"
	"io"
)

// sent is where a message stands that came by a send.
type sent struct {
	n        int   // record number
	off, end int64 // of its line
	run      string
}

// answer is where the record stands that ended a run.
type answer struct {
	n        int
	off, end int64
}

// ids knows the messages that came by sends, by their id, and their answers, by run. It is read from the log itself, so
// that what was sent is known after a restart too; lines that others append are read as they come.
type ids struct {
	n       int   // records read
	off     int64 // where the next one stands
	lastOff int64 // where the newest one stands
	byID    map[string]sent
	answers map[string]answer
	parts   map[string]part
}

// part is the newest incomplete answer of a run.
type part struct {
	answer
	count int // incomplete answers of the run
}

func newIDs() *ids {
	return &ids{byID: map[string]sent{}, answers: map[string]answer{}, parts: map[string]part{}}
}

// line is a record as the sockets write it.
type line struct {
	ID         string          `json:"id"`
	Role       string          `json:"role"`
	Name       string          `json:"name,omitempty"`         // of a tool's result: the tool
	ToolCallID string          `json:"tool_call_id,omitempty"` // of a tool's result
	IsError    bool            `json:"is_error,omitempty"`     // of a tool's result
	Content    json.RawMessage `json:"content"`
	CreatedAt  string          `json:"created_at"`
	Run        string          `json:"run"`
	Parent     string          `json:"parent_id,omitempty"`  // of an answer: the id of what it answers
	Status     string          `json:"status,omitempty"`     // of an answer: how its run ended
	Incomplete bool            `json:"incomplete,omitempty"` // of an answer: the run ended before the answer did
	UID        *uint32         `json:"uid,omitempty"`        // of a message: who sent it
	CWD        string          `json:"cwd,omitempty"`        // of a message: as it was sent
}

// catchUp reads what was appended since the last time.
func (x *ids) catchUp(j history) error {
	size, err := j.Size()
	if err != nil {
		return err
	}
	return eachLine(j, x.off, size, func(b []byte, off int64) error {
		end := off + int64(len(b))
		x.n++
		x.lastOff, x.off = off, end
		if !bytes.Contains(b, []byte(`"run":`)) {
			return nil
		}
		var l line
		if json.Unmarshal(b, &l) != nil || l.Run == "" {
			return nil
		}
		switch {
		case l.Role == "user" && l.ID != "":
			if _, ok := x.byID[l.ID]; !ok { // the first one counts
				x.byID[l.ID] = sent{n: x.n, off: off, end: end, run: l.Run}
			}
		case l.Role == "assistant" && l.Status != "" && l.Incomplete:
			x.parts[l.Run] = part{answer{n: x.n, off: off, end: end}, x.parts[l.Run].count + 1}
		case l.Role == "assistant" && l.Status != "":
			x.answers[l.Run] = answer{n: x.n, off: off, end: end}
		}
		return nil
	})
}

// readLine reads the record at off to end.
func readLine(r io.ReaderAt, off, end int64) ([]byte, error) {
	b := make([]byte, end-off)
	n, err := r.ReadAt(b, off)
	if n == len(b) {
		err = nil
	}
	return b, err
}
