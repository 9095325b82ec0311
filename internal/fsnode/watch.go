package fsnode

import "time"

// A reader that is at one request for so long is replaced: others do not wait for it longer than twice that.
const patience = 10 * time.Millisecond

// restAfter is how many times nothing was seen before the watch ends: a daemon at rest does not wake up.
const restAfter = 20

// watch sees to it that a request that takes long against expectation, as on a slow disk, holds up no other.
func (s *Server) watch() {
	for {
		select {
		case <-s.wake:
			s.watchReader()
		case <-s.over:
			return
		}
	}
}

// watchReader watches until there is nothing to be seen.
func (s *Server) watchReader() {
	tick := time.NewTicker(patience)
	defer tick.Stop()
	var last *reader
	var at uint64
	for quiet := 0; quiet < restAfter; {
		select {
		case <-tick.C:
		case <-s.over:
			return
		}
		r := s.reader.Load()
		now := r.doing.Load()
		switch same := r == last && now == at; {
		case !same:
			quiet = 0
		case now%2 == 1:
			s.replace(r)
		default:
			quiet++
		}
		last, at = r, now
	}
	s.resting.Store(true)
	if r := s.reader.Load(); r != last || r.doing.Load() != at { // it began before it could see that nobody watches
		if s.resting.CompareAndSwap(true, false) {
			s.wake <- struct{}{}
		}
	}
}
