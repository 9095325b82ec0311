package supervise

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// statusWait is how long the supervisor waits to hear why a worker died. One that cannot end yet, since a thread of it waits
// for the mount, is replaced without.
const statusWait = 20 * time.Millisecond

// died decides what follows a worker's death. end tells that nothing does.
func (s *Supervisor) died(r *running) (end bool, err error) {
	why, killed, known := errors.New("its files are closed"), false, true
	select {
	case state, ok := <-r.ended:
		if ok {
			status, _ := state.Sys().(syscall.WaitStatus)
			why, killed = errors.New(describe(status)), wasKilled(status)
		}
	case <-time.After(statusWait):
		known = false
	}
	if r.failed != nil {
		why = r.failed
	}
	dev := s.device()
	switch {
	case dev == nil:
		return true, &Failure{Code: 1, Text: fmt.Sprintf("the worker died before it could serve: %v", why)}
	case disconnected(dev):
		return true, nil
	case s.frail:
		return true, fmt.Errorf("%w: %w", ErrFrail, why)
	}
	lived := time.Since(r.started)
	switch {
	case r.ready && (killed || lived >= early):
		s.early = 0
	case r.ready && !known && s.early < maxEarly:
		go r.reportFault(s.faults)
	default:
		if err := s.bear(why); err != nil {
			return true, err
		}
	}
	s.Log.Warn("worker died: starting another", "worker", r.process.Pid, "lived", lived.Round(time.Millisecond), "why", why)
	s.rest()
	return false, nil
}

// bear counts an early death. Too many in a row are the end.
func (s *Supervisor) bear(why error) error {
	if s.early++; s.early >= maxEarly {
		return fmt.Errorf("%w, the last one: %w", ErrCrashing, why)
	}
	return nil
}

// rest waits before the next worker, the longer the more have died early: 10 ms, then 20, to 640 ms before the last one.
func (s *Supervisor) rest() {
	if s.early > 0 {
		time.Sleep(10 * time.Millisecond << (s.early - 1))
	}
}

// reportFault waits for the status of a worker that died within a second, and reports a death by its own fault. On a busy
// host the status of a worker that was killed may come late, and a kill is not a fault.
func (r *running) reportFault(faults chan<- struct{}) {
	state, ok := <-r.ended
	if !ok {
		return
	}
	if status, _ := state.Sys().(syscall.WaitStatus); !wasKilled(status) {
		select {
		case faults <- struct{}{}:
		default: // as many as count are there already
		}
	}
}

func wasKilled(s syscall.WaitStatus) bool { return s.Signaled() && s.Signal() == syscall.SIGKILL }

func describe(s syscall.WaitStatus) string {
	if s.Signaled() {
		return "signal: " + s.Signal().String()
	}
	return fmt.Sprintf("exit status %d", s.ExitStatus())
}
