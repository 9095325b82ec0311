package supervise

import (
	"fmt"
	"syscall"
	"time"
)

// statusWait is how long the supervisor waits to hear why a worker died. One that cannot end yet, since a thread of it waits
// for the mount, is replaced without.
const statusWait = 20 * time.Millisecond

// died decides what follows a worker's death. end tells that nothing does.
func (s *Supervisor) died(r *running) (end bool, err error) {
	why, killed := "its files are closed", false
	select {
	case status, ok := <-r.ended:
		if ok {
			why, killed = describe(status), status.Signaled() && status.Signal() == syscall.SIGKILL
		}
	case <-time.After(statusWait):
	}
	dev := s.device()
	switch {
	case dev == nil:
		return true, &Failure{Code: 1, Text: fmt.Sprintf("the worker died before it could serve: %s", why)}
	case disconnected(dev):
		return true, nil
	case s.frail:
		return true, fmt.Errorf("%w: %s", ErrFrail, why)
	}
	lived := time.Since(r.started)
	if r.ready && (killed || lived >= early) {
		s.early = 0
	} else if s.early++; s.early >= maxEarly {
		return true, fmt.Errorf("%w, the last one: %s", ErrCrashing, why)
	}
	s.Log.Warn("worker died: starting another", "worker", r.pid, "lived", lived.Round(time.Millisecond), "why", why)
	if s.early > 1 {
		time.Sleep(10 * time.Millisecond << (s.early - 2)) // 10 ms, then 20, to 640 ms before the last one
	}
	return false, nil
}

func describe(s syscall.WaitStatus) string {
	if s.Signaled() {
		return "signal: " + s.Signal().String()
	}
	return fmt.Sprintf("exit status %d", s.ExitStatus())
}
