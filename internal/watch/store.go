package watch

// Session is where the records of one log go.
type Session interface {
	// Read calls fn with every line of one of the session's logs, Messages or Events.
	Read(log string, fn func(line []byte) error) error
	// Append appends whole lines, each with its '\n', in one piece.
	Append(log string, lines []byte) error
	// Mark tells what it is now.
	Mark() (Mark, error)
	// Blob keeps data that records name by its hash.
	Blob(data []byte) error
	// Sync returns when all that was appended is on disk.
	Sync() error
	Close() error
}

// Mark tells a session from others, and from itself when it lacks what it had.
type Mark struct {
	ID       string `json:"id"`       // its own, whatever its name is; "" when it has none
	Messages int64  `json:"messages"` // bytes of its logs
	Events   int64  `json:"events"`
}

// Here tells where the sessions are now.
type Here struct {
	Mount string // another one when they are reached otherwise: what is open would no longer lead to them
	Store string // another one when they are other sessions
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
	// Mark tells what a session is now. The error is fs.ErrNotExist when it is not there.
	Mark(agent, name string) (Mark, error)
	// Child returns the files of context/child/ID/ in a session that link it to a subagent's, by name: those of File that are there.
	// The error is fs.ErrNotExist when the session is not there, and fs.ErrInvalid when the id cannot be a child's name.
	Child(agent, name, id string) (map[string]string, error)
	// SetChild writes files of context/child/ID/, in their order, and brings them to disk.
	SetChild(agent, name, id string, files []File) error
	// Names gives the names of an agent's sessions by their own ids.
	Names(agent string) (map[string]string, error)
	// Here is an error when the sessions cannot be reached.
	Here() (Here, error)
}
