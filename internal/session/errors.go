package session

import "fmt"

// Kind says which rule an Error stands for. The edge maps it to an errno (fsnode) or an exit code (cmd).
type Kind uint8

// The kinds, each with the errno that programs see.
const (
	Invalid      Kind = iota + 1 // EINVAL: content or name is not of the form
	Denied                       // EACCES: outside the agent's root, or not the caller's
	NotPermitted                 // EPERM: append-only, or kept by policy
	Busy                         // EBUSY: something refers to it
	TooLarge                     // EFBIG
	NameTooLong                  // ENAMETOOLONG
	NotFound                     // ENOENT
	Exists                       // EEXIST
	Locked                       // EBUSY: another daemon holds the store
	Unsupported                  // EOPNOTSUPP: not on this system
	Damaged                      // EIO: stored bytes are not there, or not those that were stored
)

// Error is a refusal by a rule of ctxfs. Hint, when set, is what to do next.
type Error struct {
	Kind Kind
	Msg  string
	Hint string
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Msg
	}
	return e.Msg + " (" + e.Hint + ")"
}

func refuse(k Kind, format string, args ...any) error {
	return &Error{Kind: k, Msg: fmt.Sprintf(format, args...)}
}
