package chunkstore

import (
	"fmt"
	"sync"
	"time"
)

// tries is how often a reader looks for bytes before it says that they are not there: another process may be moving
// them, and a folder that is listed meanwhile may show them in neither place.
const tries = 6

// ReadExtents fills p with the bytes of list, one extent after another. Bytes whose frame is damaged or missing:
// ErrCorrupt, and p is worth nothing then.
func (s *Store) ReadExtents(p []byte, list []Extent) (err error) {
	for try := range tries {
		if try > 0 {
			time.Sleep(time.Millisecond << try / 2) // none but what is damaged or moving comes here
			if err := s.look(); err != nil {
				return err
			}
		}
		places, ok := s.resolve(list)
		if !ok {
			err = fmt.Errorf("%w: no frame has them", ErrCorrupt)
		} else if err = s.fetch(p, places); err == nil {
			return nil
		}
	}
	return err
}

func (s *Store) resolve(list []Extent) ([]place, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.space.places(list)
}

// fetch copies the bytes of places to p. Frames that have to be decompressed are, each once, side by side.
func (s *Store) fetch(p []byte, places []place) error {
	for len(places) > 0 {
		need := map[*frame]int{}
		i := 0
		for ; i < len(places) && len(need) < maxAtOnce; i++ {
			if pl := places[i]; pl.held == nil {
				need[pl.fr] = max(need[pl.fr], pl.off+pl.n)
			}
		}
		got := make(map[*frame][]byte, len(need))
		if err := s.frames(need, got); err != nil {
			return err
		}
		n, err := copyPlaces(p, places[:i], got)
		if err != nil {
			return err
		}
		p, places = p[n:], places[i:]
	}
	return nil
}

// maxAtOnce bounds the frames that one read keeps decompressed.
const maxAtOnce = 8

func copyPlaces(p []byte, places []place, got map[*frame][]byte) (total int, err error) {
	for _, pl := range places {
		b := pl.held
		if b == nil {
			b = got[pl.fr]
		}
		if len(b) < pl.off+pl.n {
			return total, fmt.Errorf("%w: a frame is short", ErrCorrupt)
		}
		total += copy(p[total:], b[pl.off:pl.off+pl.n])
	}
	return total, nil
}

// frames gets the bytes of all frames of need.
func (s *Store) frames(need map[*frame]int, got map[*frame][]byte) error {
	var mu sync.Mutex
	var first error
	get := func(fr *frame, n int) {
		b, err := s.cache.get(fr, n)
		mu.Lock()
		defer mu.Unlock()
		got[fr] = b
		if err != nil && first == nil {
			first = err
		}
	}
	if len(need) == 1 {
		for fr, n := range need {
			get(fr, n)
		}
		return first
	}
	var wg sync.WaitGroup
	for fr, n := range need {
		wg.Go(func() { get(fr, n) })
	}
	wg.Wait()
	return first
}
