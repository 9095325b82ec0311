package appendlog

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// TestGroupSync lets callers come while a flush runs: they share the next one, and nobody returns before a flush that
// began after the call.
func TestGroupSync(t *testing.T) {
	var g groupSync
	var written, synced, flushes, inside atomic.Int64
	sync1 := func() error {
		if inside.Add(1) != 1 {
			t.Error("two flushes at once")
		}
		defer inside.Add(-1)
		upTo := written.Load()
		flushes.Add(1)
		for range 1000 { // let others come
			_ = written.Load()
		}
		synced.Store(upTo)
		return nil
	}
	const callers, rounds = 16, 200
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range rounds {
				mine := written.Add(1)
				if err := g.do(sync1); err != nil || synced.Load() < mine {
					t.Errorf("returned at %d, synced up to %d, %v", mine, synced.Load(), err)
				}
			}
		})
	}
	wg.Wait()
	if n := flushes.Load(); n == 0 || n > callers*rounds {
		t.Errorf("%d flushes for %d callers", n, callers*rounds)
	}
}

// TestGroupSyncShares holds the first flush until all callers wait: one more flush is enough for them all, and all get
// its error.
func TestGroupSyncShares(t *testing.T) {
	var g groupSync
	var flushes atomic.Int64
	gate, full := make(chan struct{}), errors.New("full")
	disk := func() error {
		if flushes.Add(1) > 1 {
			return full
		}
		<-gate
		return nil
	}
	first := make(chan error)
	go func() { first <- g.do(disk) }()
	for flushes.Load() == 0 {
		yield()
	}
	errs := make(chan error)
	const callers = 10
	for range callers {
		go func() { errs <- g.do(disk) }()
	}
	for waiting(&g) == nil {
		yield()
	}
	close(gate)
	if err := <-first; err != nil {
		t.Errorf("the first: %v", err)
	}
	for range callers {
		if err := <-errs; !errors.Is(err, full) {
			t.Errorf("a caller: %v", err)
		}
	}
	if n := flushes.Load(); n < 2 || n >= callers {
		t.Errorf("%d flushes for %d callers", n, callers+1)
	}
	if err := g.do(func() error { return nil }); err != nil {
		t.Errorf("after an error: %v", err)
	}
}

func waiting(g *groupSync) *flush {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.next
}

func yield() { _ = unix.Nanosleep(&unix.Timespec{Nsec: 1e5}, nil) }
