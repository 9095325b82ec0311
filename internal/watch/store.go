package watch

import "ctxfs/internal/intake"

// Here says where the sessions are now.
type Here struct {
	Mount string // another one when they are reached otherwise: what is open would no longer lead to them
	Store string // another one when they are other sessions
}

// Store has the sessions.
type Store interface {
	intake.Store
	// Mark returns what a session is now. The error is fs.ErrNotExist when it is not there.
	Mark(agent, name string) (intake.Mark, error)
	// Child returns the files of context/child/ID/ in a session that link it to a subagent's, by name: those of File that are there.
	// The error is fs.ErrNotExist when the session is not there, and fs.ErrInvalid when the id cannot be a child's name.
	Child(agent, name, id string) (map[string]string, error)
	// SetChild writes files of context/child/ID/, in their order, and brings them to disk.
	SetChild(agent, name, id string, files []File) error
	// Names returns the names of an agent's sessions by their own ids.
	Names(agent string) (map[string]string, error)
	// Here is an error when the sessions cannot be reached.
	Here() (Here, error)
}
