package intake

import (
	"cmp"
	"encoding/json"
	"hash/maphash"
	"slices"
	"strconv"

	"ctxfs/internal/importer"
)

// known is what a session has of a log.
type known struct {
	seed    maphash.Seed
	ids     map[string]held
	held    map[eventKey]int // how many
	ends    map[int]bool     // lines with which a record ended
	settled map[int]bool     // lines at which all was written that was held back, as nothing answered it
	start   place            // where the last message starts: no message that starts before it is missing
	last    place            // the last that a record names
	foreign bool             // there are messages, and none of the log's format
}

// place is where in its log a record starts: on a line, or at an element of a document, which comes before all lines.
type place struct{ line, index int }

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.line, q.line), cmp.Compare(p.index, q.index))
}
func (p place) after(q place) bool { return p.compare(q) > 0 }
func latest(p, q place) place {
	if q.after(p) {
		return q
	}
	return p
}

// held is a message that the session has.
type held struct {
	place
	created string
	blocks  []uint64 // hashes of what it says
}

// eventKey names events of one place, type and time; their order tells them apart.
type eventKey struct {
	place
	typ, created string
}

// written is what is read of a record.
type written struct {
	ID      string            `json:"id"`
	Type    string            `json:"type"`
	Created string            `json:"created_at"`
	Content []json.RawMessage `json:"content"`
	Native  struct {
		Format string `json:"format"`
		Line   int    `json:"line"`
		Index  int    `json:"index"`
		Lines  []int  `json:"lines"`
		// Of Copilot's log. Other logs may have members of that name, of any type.
		CalledLine json.RawMessage `json:"called_line"`
		Unanswered json.RawMessage `json:"unanswered"`
	} `json:"native"`
	hashes []uint64 // of Content
}

func newKnown() known {
	return known{seed: maphash.MakeSeed(), ids: map[string]held{}, held: map[eventKey]int{}, ends: map[int]bool{}, settled: map[int]bool{}}
}

// learn reads what the session has of a log of that format.
func (k *known) learn(s Session, format string) error {
	any := false
	err := s.Read(Messages, func(line []byte) error {
		any = true
		if r, ok := k.parse(line, format); ok {
			k.message(r)
		}
		return nil
	})
	if err != nil {
		return err
	}
	k.foreign = any && len(k.ids) == 0
	return s.Read(Events, func(line []byte) error {
		if r, ok := k.parse(line, format); ok {
			k.held[r.key()]++
			k.last = latest(k.last, r.place())
		}
		return nil
	})
}

// message notes a message that the session has.
func (k *known) message(r written) {
	at := r.place()
	k.ids[r.ID] = held{at, r.Created, r.hashes}
	if first, skip, ok := importer.Continues(r.ID); ok {
		if h := k.ids[first]; h.place == at && len(h.blocks) == skip {
			h.blocks = append(h.blocks[:skip:skip], r.hashes...)
			k.ids[first] = h
		}
	}
	end := max(at.line, slices.Max(append(r.Native.Lines, 0)))
	k.ends[end] = true
	if r.called() > 0 && string(r.Native.Unanswered) == "true" {
		k.settled[at.line] = true
	}
	k.start, k.last = latest(k.start, at), latest(k.last, place{end, at.index})
}

func (r *written) place() place { return place{r.Native.Line, r.Native.Index} }

func (r *written) key() eventKey { return eventKey{r.place(), r.Type, r.Created} }

// parse reads a record; ok is false for one that does not come from a log of this format.
func (k *known) parse(line []byte, format string) (r written, ok bool) {
	err := json.Unmarshal(line, &r)
	for _, block := range r.Content {
		r.hashes = append(r.hashes, maphash.Bytes(k.seed, block))
	}
	return r, err == nil && r.Native.Format == format
}

// called returns the line that a call of a child agent started at, 0 when the record names none: once, such a call named no other.
func (r *written) called() int {
	n, err := strconv.Atoi(string(r.Native.CalledLine))
	if err != nil {
		return 0
	}
	return n
}

// is reports whether r is the message old, or what it has grown to.
func (r *written) is(old held) bool {
	at := old.place == r.place() || r.called() > 0 && old.place == place{line: r.called()}
	return at && r.Created == old.created && len(old.blocks) <= len(r.hashes) && slices.Equal(old.blocks, r.hashes[:len(old.blocks)])
}
