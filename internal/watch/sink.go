package watch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strconv"

	"ctxfs/internal/cas"
	"ctxfs/internal/importer"
)

// sink takes what an import writes, and appends what its session does not have. It is an importer.Sink.
type sink struct {
	known
	store       Store
	agent, name string
	s           Session // nil: not made yet
	format      string

	produced         map[eventKey]int  // events that came so far
	came             came              // what shows whose session it is
	messages, events bytes.Buffer      // not appended yet
	waiting          map[string][]byte // pictures that no record named yet
	wanted           [][]byte          // those that a gathered record names
}

// known is what a session has of a log.
type known struct {
	ids     map[string]place
	held    map[eventKey]int // how many
	ends    map[int]bool     // lines with which a record ended
	settled map[int]bool     // lines at which all was written that was held back, as nothing answered it
	start   int              // the line that the last message starts at: no message that starts before it is missing
	last    int              // the last line that a record names
	foreign bool             // there are messages, and none of the log's format
}

// came is what the log had, held against what the session has.
type came struct {
	other         bool // a message that the session would have if it were this log's, or has from another place
	last, notLast bool // messages at the line of the session's last one that it has, and has not
	event, no     bool // events up to the session's last line that it has, and has not
}

// place is where a message comes from.
type place struct {
	line    int
	created string
}

// eventKey names events of one line, type and time; which of them, their order tells.
type eventKey struct {
	line         int
	typ, created string
}

// written is what is read of a record.
type written struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Created string `json:"created_at"`
	Native  struct {
		Format string `json:"format"`
		Line   int    `json:"line"`
		Lines  []int  `json:"lines"`
		// Of Copilot's log. Other logs may have members of that name, of any type.
		CalledLine json.RawMessage `json:"called_line"`
		Unanswered json.RawMessage `json:"unanswered"`
	} `json:"native"`
}

func openSink(store Store, agent, name string, format importer.Format) (*sink, error) {
	k := &sink{store: store, agent: agent, name: name, format: string(format), produced: map[eventKey]int{}, waiting: map[string][]byte{},
		known: known{ids: map[string]place{}, held: map[eventKey]int{}, ends: map[int]bool{}, settled: map[int]bool{}}}
	s, err := store.Open(agent, name)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil // it is made when there is something to write
	}
	if err != nil {
		return nil, err
	}
	k.s = s
	if err := k.learn(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return k, nil
}

// learn reads what the session has.
func (k *sink) learn() error {
	any := false
	err := k.s.Read(Messages, func(line []byte) error {
		any = true
		r, ok := k.parse(line)
		if !ok {
			return nil
		}
		k.ids[r.ID] = place{r.Native.Line, r.Created}
		end := max(r.Native.Line, slices.Max(append(r.Native.Lines, 0)))
		k.ends[end] = true
		if r.called() > 0 && string(r.Native.Unanswered) == "true" {
			k.settled[r.Native.Line] = true
		}
		k.start, k.last = max(k.start, r.Native.Line), max(k.last, end)
		return nil
	})
	if err != nil {
		return err
	}
	k.foreign = any && len(k.ids) == 0
	return k.s.Read(Events, func(line []byte) error {
		if r, ok := k.parse(line); ok {
			k.held[r.key()]++
			k.last = max(k.last, r.Native.Line)
		}
		return nil
	})
}

func (r *written) key() eventKey { return eventKey{r.Native.Line, r.Type, r.Created} }

// parse reads a record; ok is false for one that does not come from a log of this format.
func (k *sink) parse(line []byte) (r written, ok bool) {
	err := json.Unmarshal(line, &r)
	return r, err == nil && r.Native.Format == k.format && r.Native.Line > 0
}

// called gives the line that a call of a child agent started at, 0 of what is none: once, such a call named no other.
func (r *written) called() int {
	n, err := strconv.Atoi(string(r.Native.CalledLine))
	if err != nil {
		return 0
	}
	return n
}

// other tells whether the session is another log's, once all lines came that it names.
func (k *sink) other() bool {
	c := k.came
	return k.foreign || c.other || c.notLast && !c.last || len(k.ids) == 0 && c.no && !c.event
}

// Message takes a message of the log.
func (k *sink) Message(line []byte) error {
	r, ok := k.parse(line)
	old, there := k.ids[r.ID]
	same := ok && there && (old == place{r.Native.Line, r.Created} || r.called() > 0 && old == place{r.called(), r.Created})
	switch {
	case !ok || r.Native.Line > k.start:
	case r.Native.Line == k.start:
		k.came.last, k.came.notLast = k.came.last || same, k.came.notLast || !same
	default:
		k.came.other = k.came.other || !same
	}
	k.named(line, !same)
	if same {
		return nil
	}
	k.came.other = k.came.other || there
	k.messages.Write(line)
	return k.messages.WriteByte('\n')
}

// Event takes an event of the log.
func (k *sink) Event(line []byte) error {
	r, _ := k.parse(line)
	key := r.key()
	k.produced[key]++
	same := k.produced[key] <= k.held[key]
	if r.Native.Line <= k.last {
		k.came.event, k.came.no = k.came.event || same, k.came.no || !same
	}
	k.named(line, !same)
	if same {
		return nil
	}
	k.events.Write(line)
	return k.events.WriteByte('\n')
}

// Blob names data. It is kept when a record that names it is appended.
func (k *sink) Blob(data []byte) (string, error) {
	id := cas.Sum(data).String()
	k.waiting[id] = bytes.Clone(data)
	return id, nil
}

// named lets go of the pictures that a record names.
func (k *sink) named(line []byte, wanted bool) {
	for id, data := range k.waiting {
		if bytes.Contains(line, []byte(id)) {
			if delete(k.waiting, id); wanted {
				k.wanted = append(k.wanted, data)
			}
		}
	}
}

func (k *sink) size() int { return k.messages.Len() + k.events.Len() }

// commit appends what was gathered: pictures before the records that name them.
func (k *sink) commit() error {
	if k.size() == 0 {
		return nil
	}
	if k.s == nil {
		s, err := k.store.Make(k.agent, k.name)
		if err != nil {
			return err
		}
		k.s = s
	}
	for len(k.wanted) > 0 {
		if err := k.s.Blob(k.wanted[0]); err != nil {
			return err
		}
		k.wanted = k.wanted[1:]
	}
	for _, part := range []struct {
		log   string
		lines *bytes.Buffer
	}{{Messages, &k.messages}, {Events, &k.events}} {
		if part.lines.Len() == 0 {
			continue
		}
		if err := k.s.Append(part.log, part.lines.Bytes()); err != nil {
			return err
		}
		part.lines.Reset()
	}
	return nil
}

func (k *sink) sync() error {
	if k.s == nil {
		return nil
	}
	return k.s.Sync()
}

func (k *sink) close() error {
	if k.s == nil {
		return nil
	}
	s := k.s
	k.s = nil
	return s.Close()
}
