package thread

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What a function does to its thread is gone with the thread, and never done to the first one.
func TestThreadEnds(t *testing.T) {
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			var tid int
			err := Run(func() error {
				tid = unix.Gettid()
				if tid == unix.Getpid() {
					t.Error("fn ran on the first thread")
				}
				return unix.Unshare(unix.CLONE_FILES)
			})
			if err != nil {
				t.Error(err)
			}
			for i := 0; ; i++ {
				if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid)); errors.Is(err, os.ErrNotExist) {
					return
				}
				if i == 1000 {
					t.Errorf("thread %d is still there", tid)
					return
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	wg.Wait()
}

func TestThreadGivesTheError(t *testing.T) {
	want := errors.New("no")
	if err := Run(func() error { return want }); err != want {
		t.Errorf("got %v", err)
	}
}
