// Package intake decides what a session has of a log of another program, and appends what it lacks: once for import, which
// reads a log whole, and for watch, which reads one as it grows.
//
// Records name the place in the log that they come from, so the session itself says how far its log was read. Whatever
// was killed, and when: the log is read again from its start, and what the session has is left out.
package intake

import (
	"errors"

	"ctxfs/internal/importer"
)

// Session is where the records of one log go. Whoever has it open holds the lock of its messages.
type Session interface {
	// Read calls fn with every line of one of the session's logs, Messages or Events.
	Read(log string, fn func(line []byte) error) error
	// Append appends whole lines, each with its '\n', in one piece.
	Append(log string, lines []byte) error
	// Describe enters what the log's program reports of the session into its meta.json.
	Describe(importer.Report) error
	// Mark returns what the session is now.
	Mark() (Mark, error)
	// Blob keeps data that records name by its hash.
	Blob(data []byte) error
	// Sync returns when all that was appended is durable.
	Sync() error
	Close() error
}

// Mark identifies a session, and shows when it lacks what it had.
type Mark struct {
	ID       string `json:"id"`       // the session's own, whatever its name is; "" when it has none
	Messages int64  `json:"messages"` // bytes of its logs
	Events   int64  `json:"events"`
}

// The logs of a session.
const (
	Messages = "messages.jsonl"
	Events   = "events.jsonl"
)

// Store has the sessions.
type Store interface {
	// Open opens a session of an agent. The error is fs.ErrNotExist when it is not there.
	Open(agent, name string) (Session, error)
	// Make makes one. The error is fs.ErrExist when it is there.
	Make(agent, name string) (Session, error)
}

// ErrOther is the error of writing to a session that has records of another log.
var ErrOther = errors.New("the session is of another log")

// MaxNames bounds the sessions of logs that were at one path, one after the other.
const MaxNames = 100

// batch is how much is gathered before it is appended, in bytes.
const batch = 1 << 20
