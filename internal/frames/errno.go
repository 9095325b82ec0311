package frames

import "fmt"

// Code is the errno name that an error frame carries.
type Code string

// The codes that clients may see.
const (
	EACCES    Code = "EACCES"    // not the peer's, or outside the agent's root
	EAGAIN    Code = "EAGAIN"    // a limit is reached; later it may work
	EHOSTDOWN Code = "EHOSTDOWN" // no agent serves the session
	EINTR     Code = "EINTR"     // the run was cancelled
	EINVAL    Code = "EINVAL"    // the frame is not of the form, or an id was used for something else
	EIO       Code = "EIO"
	EMSGSIZE  Code = "EMSGSIZE" // the frame is longer than MaxFrame
	ENOENT    Code = "ENOENT"   // no such session, run, share or directory
	ENOSPC    Code = "ENOSPC"
	EDQUOT    Code = "EDQUOT"
	ENOSYS    Code = "ENOSYS" // the mount cannot do this
)

// Error is why a frame is refused.
type Error struct {
	Code Code
	Msg  string // for people; it never names a path of the host
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Msg }

// Refuse makes an Error.
func Refuse(c Code, format string, args ...any) error {
	return &Error{Code: c, Msg: fmt.Sprintf(format, args...)}
}
