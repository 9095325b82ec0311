package serve

import "sync"

// outbox is the queue of frames that wait to be written to one peer.
type outbox struct {
	maxFrames, maxBytes int

	mu     sync.Mutex // protects what is below; a leaf
	cond   *sync.Cond // something was added, taken, or ended
	queue  [][]byte
	bytes  int
	ended  bool   // nothing more comes; what waits is written
	cut    bool   // the peer is dropped
	last   []byte // written instead of what waits, when the peer is dropped
	dead   bool   // nothing is written any more
	urgent func() // called once when last is set
}

func newOutbox(l Limits, urgent func()) *outbox {
	o := &outbox{maxFrames: l.QueueFrames, maxBytes: l.QueueBytes, urgent: urgent}
	o.cond = sync.NewCond(&o.mu)
	return o
}

func (o *outbox) full(n int) bool {
	return len(o.queue) > 0 && (len(o.queue) >= o.maxFrames || o.bytes+n > o.maxBytes)
}

// push adds a frame and tells whether there was room. It never waits.
func (o *outbox) push(b []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended || o.dead {
		return true // the peer is leaving: nothing is owed to it
	}
	if o.full(len(b)) {
		return false
	}
	o.add(b)
	return true
}

func (o *outbox) add(b []byte) {
	o.queue = append(o.queue, b)
	o.bytes += len(b)
	o.cond.Broadcast()
}

// pushWait adds a frame when there is room. It is false when the peer is gone.
func (o *outbox) pushWait(b []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.full(len(b)) && !o.ended && !o.dead {
		o.cond.Wait()
	}
	if o.ended || o.dead {
		return false
	}
	o.add(b)
	return true
}

// pop waits for the next frame. ok is false when there will be none.
func (o *outbox) pop() (b []byte, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) == 0 && !o.ended && !o.dead {
		o.cond.Wait()
	}
	if o.dead {
		return nil, false
	}
	if len(o.queue) == 0 {
		b, o.last = o.last, nil
		return b, b != nil
	}
	b, o.queue = o.queue[0], o.queue[1:]
	o.bytes -= len(b)
	o.cond.Broadcast()
	return b, true
}

// end lets what waits be written, and nothing more.
func (o *outbox) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.cond.Broadcast()
}

// drop throws away what waits and has last written in its place.
func (o *outbox) drop(last []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cut || o.dead {
		return
	}
	o.queue, o.bytes, o.ended, o.cut, o.last = nil, 0, true, true, last
	o.cond.Broadcast()
	go o.urgent()
}

func (o *outbox) dropped() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.cut
}

// kill ends it at once.
func (o *outbox) kill() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dead, o.queue = true, nil
	o.cond.Broadcast()
}
