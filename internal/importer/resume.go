package importer

import (
	"strconv"
	"strings"
)

// Pause says what a session had of a log at a line, when that was the log's last.
type Pause uint8

// The pauses of a log that was read while it grew.
const (
	NoPause Pause = iota
	Cut           // the message that was being collected was written
	Settle        // all that was held back was written
)

// Paced is a Sink whose session was written while its log grew: the same records come only when what was held back is
// written at the same lines.
type Paced interface {
	Sink
	// Pause returns what was written when the log ended in that line.
	Pause(line int) Pause
}

// Ended is a Sink that is told of the end of its session.
type Ended interface {
	Sink
	// End is called behind the last record.
	End(Report) error
}

// pause writes what is held back if it was written at line n once.
func (d *reader) pause(n int) error {
	if d.h == nil {
		return nil
	}
	p, ok := d.w.sink.(Paced)
	if !ok {
		return nil
	}
	switch p.Pause(n) {
	case Cut:
		return d.cut()
	case Settle:
		return d.settle()
	}
	return nil
}

func (d *reader) cut() error {
	if h, ok := d.h.(cutter); ok {
		return h.cut()
	}
	return nil
}

func (d *reader) settle() error {
	if h, ok := d.h.(settler); ok {
		return h.settle()
	}
	return nil
}

// continuing separates the id of a message and the number of its blocks that were written before, in the id of its rest.
const continuing = ".from"

// Continued returns the rest of a message whose first blocks are in a record already: a record of its own, whose native
// part names the first.
func Continued(line []byte, blocks int) []byte {
	o := parseObject(line)
	first := o.str("id")
	var l builder
	for _, m := range o.without("usage") {
		switch m.key {
		case "id":
			m.val = quote(first + continuing + strconv.Itoa(blocks))
		case "content":
			m.val = list2raw(elements(m.val)[blocks:])
		case "native":
			m.val = append(parseObject(m.val).without("continues"), member{"continues", quote(first)}).encode()
		}
		l.raw(m.key, m.val)
	}
	return l.end()
}

// Continues takes the id of a record of Continued apart; ok is false for other ids.
func Continues(id string) (first string, blocks int, ok bool) {
	at := strings.LastIndex(id, continuing)
	if at < 0 {
		return "", 0, false
	}
	blocks, err := strconv.Atoi(id[at+len(continuing):])
	return id[:at], blocks, err == nil && blocks >= 0
}
