package session

import (
	"sync/atomic"
	"time"

	"ctxfs/internal/appendlog"
)

// Stats counts what a store did since it was opened.
type Stats struct {
	Appended appendlog.Tally // lines and bytes that users appended to logs
	Appends  atomic.Int64    // writes that brought lines
	Packs    Times           // packs that were built, and how long each took
	PackHits atomic.Int64    // generated files that were there already

	// What was set aside, by why: a line that is no JSON object, one over appendlog.MaxLine, the torn end of a log after a crash.
	NotObject, TooLong, Torn atomic.Int64
}

// Quarantined is how often something was set aside.
func (s *Stats) Quarantined() int64 { return s.NotObject.Load() + s.TooLong.Load() + s.Torn.Load() }

// timesBounds is how many bounds Times has: 1 ms, and twice that, to 8.192 s.
const timesBounds = 14

// Times counts durations by size.
type Times struct {
	sum   atomic.Int64                   // nanoseconds
	count [timesBounds + 1]atomic.Uint64 // up to each bound, and over the last
}

// timesBound is the i-th bound.
func timesBound(i int) time.Duration { return time.Millisecond << i }

// add counts one.
func (t *Times) add(d time.Duration) {
	i := 0
	for i < timesBounds && d > timesBound(i) {
		i++
	}
	t.count[i].Add(1)
	t.sum.Add(int64(d))
}

// Count is how many there were.
func (t *Times) Count() (n uint64) {
	for i := range t.count {
		n += t.count[i].Load()
	}
	return n
}

// UpTo gives, for each bound in seconds, how many were no longer, with their count and their sum in seconds.
func (t *Times) UpTo() (buckets map[float64]uint64, count uint64, sum float64) {
	buckets = map[float64]uint64{}
	for i := range t.count {
		if count += t.count[i].Load(); i < timesBounds {
			buckets[timesBound(i).Seconds()] = count
		}
	}
	return buckets, count, time.Duration(t.sum.Load()).Seconds()
}

// Held is what a store keeps of sessions in memory.
type Held struct {
	Loaded int   // sessions that anything is known of
	Ready  int   // those whose logs and folds are kept for the next use
	Bytes  int64 // of history that is folded, and of generated files
}

// Held tells what is kept now, of the store's own sessions and of temporary ones.
func (s *Store) Held() Held {
	s.mu.Lock()
	h := Held{Loaded: len(s.sessions), Ready: s.ready.order.Len()}
	for _, n := range s.ready.weight {
		h.Bytes += n
	}
	s.mu.Unlock()
	s.memMu.Lock()
	defer s.memMu.Unlock()
	for _, m := range s.memories {
		m.mu.Lock()
		h.Loaded += len(m.sessions)
		m.mu.Unlock()
	}
	return h
}
