package fsnode

import (
	"runtime"
	"runtime/debug"
	"time"
)

const (
	// giveBackOver is how many bytes the heap may hold beyond what is in use.
	giveBackOver = 4 << 20
	// giveBackEvery is how long the last time must be ago: who rests often would collect garbage all the time.
	giveBackEvery = 10 * time.Second
)

// memory gives memory back to the system when the daemon rests. Go does that when garbage was collected, and that when there is
// more of it, or after two minutes: a daemon that listed 100,000 sessions once would hold what that took until then.
type memory struct {
	last time.Time // when it was given back
	kept uint64    // bytes that were in use then
}

// due gives when to give memory back; nil: there is too little to give.
func (m *memory) due() <-chan time.Time {
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	if now.HeapSys-now.HeapReleased < m.kept+giveBackOver {
		return nil
	}
	return time.After(giveBackEvery - time.Since(m.last))
}

func (m *memory) giveBack() {
	debug.FreeOSMemory()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	m.last, m.kept = time.Now(), now.HeapSys-now.HeapReleased
}
