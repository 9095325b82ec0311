package token

// call is one call of a method of an Encoding, with the room that it works in.
type call struct {
	*Encoding
	*room
}

// room is what a call needs to be fast. It is kept for a later one, and says nothing but how fast that is.
type room struct {
	seen   seen
	window window
	heap   heap
	work   int // steps of merging in long pieces, for the tests
}

func (e *Encoding) enter() call {
	r, ok := e.rooms.Get().(*room)
	if !ok {
		r = new(room)
	}
	return call{e, r}
}

func (c call) leave() { c.rooms.Put(c.room) }

// count expects valid UTF-8.
func (c call) count(b []byte) int {
	n, next, classes := 0, c.next, c.classes
	for i := 0; i < len(b); {
		end := next(classes, b, i)
		if end-i == 1 {
			n++ // each byte is a token
		} else {
			n += c.piece(b, i, end)
		}
		i = end
	}
	return n
}

// piece counts the tokens of b[i:end], which is one match of the encoding's pattern.
func (c call) piece(b []byte, i, end int) int {
	if end-i > maxSeen {
		return c.merged(b, i, end)
	}
	slot := c.seen.find(b, i, end)
	if n := slot.count(); n != 0 {
		return n
	}
	n := c.merged(b, i, end)
	slot.setCount(n)
	return n
}

// merged counts them anew.
func (c call) merged(b []byte, i, end int) int {
	switch {
	case c.ranks.of(b, i, end) != noRank:
		return 1
	case end-i <= maxScan:
		return c.ranks.scan(b, i, end)
	}
	return c.long(c.ranks, b[i:end], false).n
}
