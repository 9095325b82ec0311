package serve

import (
	"errors"
	"io/fs"
	"syscall"

	"ctxfs/internal/appendlog"
	"ctxfs/internal/frames"
	"ctxfs/internal/session"
)

// refusal gives the code and the words for an error. Words of the system's errors name paths of the host: they stay here.
func refusal(err error) *frames.Error {
	var f *frames.Error
	if errors.As(err, &f) {
		return f
	}
	var rule *session.Error
	if errors.As(err, &rule) {
		return &frames.Error{Code: ruleCode(rule.Kind), Msg: rule.Msg}
	}
	code, msg := frames.EIO, "an error of input or output"
	var no syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code, msg = frames.ENOENT, "it is not there"
	case errors.Is(err, appendlog.ErrTooLong):
		code, msg = frames.EMSGSIZE, "the line is too long"
	case errors.As(err, &no):
		code, msg = errnoCode(no), no.Error()
	}
	return &frames.Error{Code: code, Msg: msg}
}

func ruleCode(k session.Kind) frames.Code {
	switch k {
	case session.Invalid, session.NameTooLong, session.Exists:
		return frames.EINVAL
	case session.Denied, session.NotPermitted:
		return frames.EACCES
	case session.Busy, session.Locked:
		return frames.EAGAIN
	case session.TooLarge:
		return frames.EMSGSIZE
	case session.NotFound:
		return frames.ENOENT
	case session.Unsupported:
		return frames.ENOSYS
	}
	return frames.EIO
}

func errnoCode(no syscall.Errno) frames.Code {
	switch no {
	case syscall.EACCES, syscall.EPERM, syscall.EXDEV, syscall.ELOOP:
		return frames.EACCES
	case syscall.ENOSPC:
		return frames.ENOSPC
	case syscall.EDQUOT:
		return frames.EDQUOT
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN:
		return frames.EAGAIN
	case syscall.ENOTDIR:
		return frames.ENOENT
	}
	return frames.EIO
}
