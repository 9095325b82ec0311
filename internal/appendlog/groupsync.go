package appendlog

import "sync"

// groupSync lets callers share flushes: one that arrives while a flush runs joins the next one, since the running
// one may have started before its data was written.
type groupSync struct {
	mu      sync.Mutex // protects what is below; not held during a flush
	running *flush
	next    *flush
}

type flush struct {
	done chan struct{}
	err  error
}

func (g *groupSync) do(sync func() error) error {
	g.mu.Lock()
	if g.running != nil {
		if g.next == nil {
			g.next = &flush{done: make(chan struct{})}
		}
		f := g.next
		g.mu.Unlock()
		<-f.done
		return f.err
	}
	f := &flush{done: make(chan struct{})}
	g.running = f
	g.mu.Unlock()
	g.run(f, sync)
	return f.err
}

// run flushes for f, then hands the flush that gathered meanwhile to a goroutine of its own: the caller has
// what it came for.
func (g *groupSync) run(f *flush, sync func() error) {
	f.err = sync()
	g.mu.Lock()
	next := g.next
	g.running, g.next = next, nil
	g.mu.Unlock()
	close(f.done)
	if next != nil {
		go g.run(next, sync)
	}
}
