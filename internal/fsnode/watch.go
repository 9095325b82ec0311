package fsnode

import "time"

const (
	// patience is how long nobody may read while a request is carried out: others do not wait for it longer than twice that.
	patience = 10 * time.Millisecond
	// calmAfter is how many such times nothing that may take long was asked for before one goroutine is enough to read.
	calmAfter = 5
	// restAfter is how many times nothing was asked before the watch ends: a daemon at rest does not wake up.
	restAfter = 20
)

// watch sees to it that a request that takes long against expectation, as on a slow disk, holds up no other.
func (s *Server) watch() {
	var m memory
	var later <-chan time.Time
	for {
		select {
		case <-s.wake:
			s.look()
			later = m.due()
		case <-later:
			m.giveBack()
			later = nil
		case <-s.over:
			return
		}
	}
}

// look watches until there is nothing to be seen.
func (s *Server) look() {
	tick := time.NewTicker(patience)
	defer tick.Stop()
	begun, slow, quiet, calm := s.begun.Load(), s.slow.Load(), 0, 0
	for quiet < restAfter {
		select {
		case <-tick.C:
		case <-s.over:
			return
		}
		quiet, calm = quiet+1, calm+1
		if now := s.slow.Load(); now != slow {
			slow, calm = now, 0
		}
		if calm == calmAfter {
			s.wanted.Store(1)
		}
		now := s.begun.Load()
		if s.waiting.Load() == 0 {
			quiet = 0
			if now == begun {
				s.summon()
			}
		}
		if now != begun {
			begun, quiet = now, 0
		}
	}
	s.resting.Store(true)
	if s.begun.Load() != begun && s.resting.CompareAndSwap(true, false) { // it began before it could see that nobody watches
		s.wake <- struct{}{}
	}
}
