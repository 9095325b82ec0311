package chunkstore

import (
	"container/list"
	"sync"
)

// cache keeps the bytes of frames that were read last, up to max bytes and at least one frame. A frame may stand in
// it with only its head: what a read needed.
type cache struct {
	mu    sync.Mutex
	max   int
	size  int
	byFr  map[*frame]*list.Element
	order *list.List // of *entry, last used first
}

// entry is one frame of the cache. mu is held while it is decompressed, so that this happens once.
type entry struct {
	fr  *frame
	mu  sync.Mutex
	raw []byte
	got int // bytes counted in cache.size
}

func newCache(max int) *cache {
	return &cache{max: max, byFr: map[*frame]*list.Element{}, order: list.New()}
}

// get gives at least the first need bytes of fr.
func (c *cache) get(fr *frame, need int) ([]byte, error) {
	e := c.entry(fr)
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.raw) >= need {
		return e.raw, nil
	}
	if len(e.raw) > 0 && need < fr.load.size() {
		need = fr.load.size() // it is read piece by piece: this time to its end
	}
	raw, err := fr.load.load(need)
	if err != nil {
		c.drop(fr)
		return nil, err
	}
	e.raw = raw
	c.account(e)
	return raw, nil
}

// entry gives the entry of fr, as the one used last.
func (c *cache) entry(fr *frame) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.byFr[fr]; ok {
		c.order.MoveToFront(el)
		return el.Value.(*entry)
	}
	e := &entry{fr: fr}
	c.byFr[fr] = c.order.PushFront(e)
	return e
}

// account counts what e holds now, and lets go of what was used longest ago.
func (c *cache) account(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.byFr[e.fr]; !ok {
		return // dropped meanwhile
	}
	c.size += cap(e.raw) - e.got
	e.got = cap(e.raw)
	for c.size > c.max && c.order.Len() > 1 {
		c.remove(c.order.Back())
	}
}

func (c *cache) remove(el *list.Element) {
	e := el.Value.(*entry)
	c.order.Remove(el)
	delete(c.byFr, e.fr)
	c.size -= e.got
}

func (c *cache) drop(fr *frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.byFr[fr]; ok {
		c.remove(el)
	}
}
