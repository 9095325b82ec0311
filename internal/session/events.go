package session

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Event is a line that ctxfs itself writes to events.jsonl: a CloudEvents 1.0 envelope (JSON format).
type Event struct {
	SpecVersion string         `json:"specversion"`
	ID          string         `json:"id"`
	Source      string         `json:"source"`
	Type        string         `json:"type"`
	Time        string         `json:"time"`
	Sequence    string         `json:"sequence"` // extension "sequence": where the event stands in the log, in bytes; of two events the later one has the greater string
	Data        map[string]any `json:"data,omitempty"`
}

// Event appends an event of ctxfs to events.jsonl.
func (x *Session) Event(kind string, data map[string]any) error {
	x.logMu.Lock()
	defer x.logMu.Unlock()
	return x.eventLocked(kind, data)
}

func (x *Session) eventLocked(kind string, data map[string]any) error {
	l, err := x.openLog(Events)
	if err != nil {
		return err
	}
	now := x.store.opt.Now().UTC()
	line, err := json.Marshal(Event{SpecVersion: "1.0", ID: "ctxfs-" + strconv.FormatInt(now.UnixNano(), 36) + "-" + newID()[:6],
		Source: "ctxfs", Type: kind, Time: stamp(now), Sequence: fmt.Sprintf("%015d", l.Size()), Data: data})
	if err != nil {
		return err
	}
	if rules, err := x.store.redact(); err == nil { // what an agent says it does may hold a secret
		masked, _ := rules.Mask(string(line))
		line = []byte(masked)
	}
	if err := l.Commit(append(line, '\n')); err != nil {
		return err
	}
	x.c.idx.touch(x.Name())
	x.changed(Events)
	return nil
}
