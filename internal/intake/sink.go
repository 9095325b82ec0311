package intake

import (
	"bytes"
	"errors"
	"io/fs"

	"ctxfs/internal/cas"
	"ctxfs/internal/importer"
)

// Sink takes what an import of a log writes, and appends what the log's session does not have. It is an importer.Sink.
type Sink struct {
	known
	store       Store
	agent, name string
	s           Session // nil: not made yet
	format      string

	produced         map[eventKey]int  // events that came so far
	came             came              // what shows whose session it is
	at               place             // of the last record that came
	messages, events bytes.Buffer      // not appended yet
	waiting          map[string][]byte // pictures that no record named yet
	wanted           [][]byte          // those that a gathered record names
	added            Counts
	about            about // what the session was described as
}

// Counts are numbers of records.
type Counts struct {
	Messages int `json:"messages"`
	Events   int `json:"events"`
}

// came compares what came of the log with what the session has.
type came struct {
	other         bool // a message that the session would have if it were this log's, or has from another place
	last, notLast bool // messages at the place of the session's last one that it has, and has not
	event, no     bool // events up to the session's last place that it has, and has not
}

// Open opens the session of that name, which need not exist: it is made when there is something to write.
func Open(store Store, agent, name string, format importer.Format) (*Sink, error) {
	k := &Sink{store: store, agent: agent, name: name, format: string(format), produced: map[eventKey]int{}, waiting: map[string][]byte{},
		known: newKnown()}
	s, err := store.Open(agent, name)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err != nil {
		return nil, err
	}
	k.s = s
	if err := k.learn(s, k.format); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return k, nil
}

// Is reports whether k writes the session of that name.
func (k *Sink) Is(agent, name string) bool { return k.agent == agent && k.name == name }

// Agent is whose session it is.
func (k *Sink) Agent() string { return k.agent }

// Name is the session's name.
func (k *Sink) Name() string { return k.name }

// Session is the open session, nil when there is none yet.
func (k *Sink) Session() Session { return k.s }

// Added returns how many records were appended.
func (k *Sink) Added() Counts { return k.added }

// Other reports whether the session is another log's, once all that the session has came.
func (k *Sink) Other() bool {
	c := k.came
	return k.foreign || c.other || c.notLast && !c.last || len(k.ids) == 0 && c.no && !c.event
}

// Behind reports whether a log of so many lines is shorter than what the session has of it.
func (k *Sink) Behind(lines int) bool { return lines < k.last.line }

// Message takes a message of the log.
func (k *Sink) Message(line []byte) error {
	r, ok := k.parse(line, k.format)
	k.at = r.place()
	old, there := k.ids[r.ID]
	same := ok && there && r.is(old)
	grown := same && len(old.blocks) < len(r.hashes)
	switch {
	case !ok || len(k.ids) == 0 || k.at.after(k.start):
	case k.at == k.start:
		k.came.last, k.came.notLast = k.came.last || same, k.came.notLast || !same
	default:
		k.came.other = k.came.other || !same || grown
	}
	k.came.other = k.came.other || there && !same
	if grown {
		line = importer.Continued(line, len(old.blocks))
	}
	k.named(line, !same || grown)
	if same && !grown {
		return nil
	}
	k.added.Messages++
	k.messages.Write(line)
	return k.full(k.messages.WriteByte('\n'))
}

// Event takes an event of the log.
func (k *Sink) Event(line []byte) error {
	r, _ := k.parse(line, k.format)
	k.at = r.place()
	key := r.key()
	k.produced[key]++
	same := k.produced[key] <= k.held[key]
	if len(k.held) > 0 && !k.at.after(k.last) {
		k.came.event, k.came.no = k.came.event || same, k.came.no || !same
	}
	k.named(line, !same)
	if same {
		return nil
	}
	k.added.Events++
	k.events.Write(line)
	return k.full(k.events.WriteByte('\n'))
}

// Blob names data. It is kept when a record that names it is appended.
func (k *Sink) Blob(data []byte) (string, error) {
	id := cas.Sum(data).String()
	k.waiting[id] = bytes.Clone(data)
	return id, nil
}

// Pause returns what was written of the log when it had that many lines. It makes Sink an importer.Paced.
func (k *Sink) Pause(line int) importer.Pause {
	switch {
	case k.settled[line]:
		return importer.Settle
	case k.ends[line]:
		return importer.Cut
	}
	return importer.NoPause
}

// named drops the pictures that a record names, or keeps them for it.
func (k *Sink) named(line []byte, wanted bool) {
	for id, data := range k.waiting {
		if bytes.Contains(line, []byte(id)) {
			if delete(k.waiting, id); wanted {
				k.wanted = append(k.wanted, data)
			}
		}
	}
}

// full commits when much was gathered, and all that the session has came. Records of another log than the session's are
// dropped: Commit would refuse them.
func (k *Sink) full(err error) error {
	if err != nil || k.messages.Len()+k.events.Len() < batch || !k.at.after(k.last) {
		return err
	}
	if k.Other() {
		k.messages.Reset()
		k.events.Reset()
		return nil
	}
	return k.Commit()
}

// Commit appends what was gathered: pictures before the records that name them. Its error is ErrOther, and nothing is
// written, when the session is another log's.
func (k *Sink) Commit() error {
	if k.Other() {
		return ErrOther
	}
	if k.messages.Len()+k.events.Len() == 0 {
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

// about is what of a report describes a session.
type about struct{ client, version, session, cwd, model, title string }

// Describe enters a report into the session's meta.json, if there is a session and it was described otherwise.
func (k *Sink) Describe(rep importer.Report) error {
	now := about{rep.Client, rep.ClientVersion, rep.SessionID, rep.CWD, rep.Model, rep.Title}
	if k.s == nil || now == k.about {
		return nil
	}
	err := k.s.Describe(rep)
	if err == nil {
		k.about = now
	}
	return err
}

// Sync returns when all that was appended is durable.
func (k *Sink) Sync() error {
	if k.s == nil {
		return nil
	}
	return k.s.Sync()
}

// Close closes the session. What was not committed is dropped.
func (k *Sink) Close() error {
	if k.s == nil {
		return nil
	}
	s := k.s
	k.s = nil
	return s.Close()
}
