package fsnode

import (
	"errors"
	"syscall"

	"ctxfs/internal/appendlog"
	"ctxfs/internal/beneath"
	"ctxfs/internal/cas"
	"ctxfs/internal/record"
	"ctxfs/internal/session"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// errOtherOwner: a file cannot move to another owner. It is EXDEV, at which mv(1) copies, and the copy belongs there.
var errOtherOwner = errors.New("another owner's")

// errno gives the status that a program sees for an error: the one place where errors become numbers.
func errno(err error) fuse.Status {
	if err == nil {
		return fuse.OK
	}
	var rule *session.Error
	if errors.As(err, &rule) {
		return ruleErrno(rule.Kind)
	}
	switch {
	case errors.Is(err, errOtherOwner):
		return fuse.EXDEV
	case errors.Is(err, record.ErrNotObject):
		return fuse.EINVAL
	case errors.Is(err, appendlog.ErrTooLong), errors.Is(err, beneath.ErrTooLarge):
		return fuse.Status(syscall.EFBIG)
	case errors.Is(err, cas.ErrCorrupt):
		return fuse.EIO
	}
	var no syscall.Errno
	if errors.As(err, &no) {
		return pathErrno(no)
	}
	return fuse.EIO
}

func ruleErrno(k session.Kind) fuse.Status {
	switch k {
	case session.Invalid:
		return fuse.EINVAL
	case session.Denied:
		return fuse.EACCES
	case session.NotPermitted:
		return fuse.EPERM
	case session.Busy, session.Locked:
		return fuse.EBUSY
	case session.TooLarge:
		return fuse.Status(syscall.EFBIG)
	case session.NameTooLong:
		return fuse.Status(syscall.ENAMETOOLONG)
	case session.NotFound:
		return fuse.ENOENT
	case session.Unsupported:
		return fuse.Status(syscall.EOPNOTSUPP)
	case session.Exists:
		return fuse.Status(syscall.EEXIST)
	}
	return fuse.EIO
}

// pathErrno hides how paths are resolved: openat2(2) says EXDEV or ELOOP for a path that leads through a link or out
// of the store, which is a refusal to whoever planted it.
func pathErrno(no syscall.Errno) fuse.Status {
	switch no {
	case syscall.EXDEV, syscall.ELOOP:
		return fuse.EACCES
	}
	return fuse.Status(no)
}
