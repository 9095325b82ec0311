package main

import (
	"context"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// follower reads a file that grows: at its end it waits for more, until ctx is done; then it is at the end.
type follower struct {
	ctx   context.Context
	f     *os.File
	watch int // inotify(7); -1: none
}

// pollEvery is how often the end is looked at without being told of a change: what the daemon itself appends raises no
// inotify event.
const pollEvery = 250 * time.Millisecond

func follow(ctx context.Context, f *os.File) *follower {
	w := &follower{ctx: ctx, f: f, watch: -1}
	if fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK); err == nil {
		if _, err := unix.InotifyAddWatch(fd, f.Name(), unix.IN_MODIFY); err == nil {
			w.watch = fd
		} else {
			_ = unix.Close(fd)
		}
	}
	return w
}

func (w *follower) Read(p []byte) (int, error) {
	for {
		n, err := w.f.Read(p)
		if n > 0 || err != io.EOF {
			return n, err
		}
		if w.ctx.Err() != nil {
			return 0, io.EOF
		}
		w.wait()
	}
}

// wait returns when the file may have grown.
func (w *follower) wait() {
	if w.watch < 0 {
		time.Sleep(pollEvery)
		return
	}
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(w.watch), Events: unix.POLLIN}}, int(pollEvery.Milliseconds())) // to wait less is no harm
	var buf [4096]byte
	_, _ = unix.Read(w.watch, buf[:]) // only that there was something counts
}

func (w *follower) Close() error {
	if w.watch >= 0 {
		_ = unix.Close(w.watch)
	}
	return nil
}
