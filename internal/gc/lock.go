package gc

import (
	"errors"
	"path"

	"ctxfs/internal/beneath"
	"ctxfs/internal/flock"
	"ctxfs/internal/session"

	"golang.org/x/sys/unix"
)

// Lock keeps other gc runs from a store, and who would copy it, until release is called. While another run has it, or the store
// is being copied: session.Locked.
func Lock(store *session.Store) (release func() error, err error) {
	moved, err := session.Moving(store.Dir())
	if err != nil {
		var rule *session.Error
		if errors.As(err, &rule) && rule.Kind == session.Busy {
			err = &session.Error{Kind: session.Locked, Msg: rule.Msg, Hint: rule.Hint}
		}
		return nil, err
	}
	defer func() {
		if err != nil {
			moved()
		}
	}()
	if err := store.Dir().MkdirAll(session.StateDir, 0o700, beneath.Owner{}, nil); err != nil { // not there where only sessions were copied
		return nil, err
	}
	f, err := store.Dir().OpenFile(path.Join(session.StateDir, "gc.lock"), unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock.Take(f); err != nil {
		f.Close()
		if held := (*flock.Held)(nil); errors.As(err, &held) {
			err = &session.Error{Kind: session.Locked, Msg: "another ctxfs gc works on this store" + held.By(), Hint: "it ends by itself"}
		}
		return nil, err
	}
	return func() error { defer moved(); return f.Close() }, nil
}
