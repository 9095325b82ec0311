package token

// suffix gives the place where the longest suffix begins and its count. What a match is depends on nothing before
// it, so a suffix that begins where the whole text has a piece beginning has the same pieces; and one that begins
// elsewhere comes, mostly soon, to such a place.
func (c call) suffix(b []byte, limit int) (from, tokens int) {
	if limit <= 0 {
		return len(b), 0
	}
	start, total := c.suffixStart(b, limit)
	if total <= limit {
		return start, total
	}
	// Walk to the first piece from which on all fits. Behind a place where a piece begins in any case, nothing
	// longer does.
	sure, before, p := place{at: start}, place{at: start}, place{at: start}
	for total-p.tokens > limit {
		if p.at-sure.at > maxTry || c.breaks(b, p.at) {
			sure = p
		}
		before, p = p, c.step(b, p)
	}
	counted := func(n int) int { return c.meet(b, sure, n, total) }
	if p.at-before.at > maxTry {
		return c.suffixLong(b, before, p, limit, total, counted)
	}
	for n := sure.at; n < p.at; n = forth(b, n) {
		if tokens := counted(n); tokens <= limit {
			return n, tokens
		}
	}
	return p.at, total - p.tokens
}

// suffixStart gives a place behind which the suffix surely begins, and the count from there.
func (c call) suffixStart(b []byte, limit int) (start, total int) {
	for size := 1024 + 8*min(limit, len(b)); ; size *= 2 {
		start = len(b) - size
		for start > 0 && !c.breaks(b, start) {
			start--
		}
		start = max(start, 0)
		if total = c.count(b[start:]); total > limit || start == 0 {
			return start, total
		}
	}
}

// breaks tells whether a piece begins at b[i] whatever is before, going by ASCII alone: no pattern goes on from
// a digit to what is none, from a letter to what is neither a letter nor an apostrophe, or from a symbol to a blank
// that is no line end.
func (e *Encoding) breaks(b []byte, i int) bool {
	if i == 0 {
		return false
	}
	before, k := e.classes.ascii[b[i-1]], e.classes.ascii[b[i]]
	switch {
	case k == 0:
		return false
	case before == number:
		return k != number
	case before&letter != 0:
		return k&letter == 0 && b[i] != '\''
	}
	return before == other && k == space
}

// meet counts b[n:], by the pieces from n until one begins where one of the whole text does: p is such a place at
// or before n, and total the count from where p.tokens is 0.
func (c call) meet(b []byte, p place, n, total int) int {
	q := place{at: n}
	for p.at != q.at {
		if p.at < q.at {
			p = c.step(b, p)
		} else {
			q = c.step(b, q)
		}
	}
	return q.tokens + total - p.tokens
}

// suffixLong tries the ends of the tokens of the piece from before to p.
func (c call) suffixLong(b []byte, before, p place, limit, total int, counted func(n int) int) (from, tokens int) {
	ends := c.long(c.ranks, b[before.at:p.at], true).ends
	room := limit - (total - p.tokens)
	for k := len(ends) - room; k < len(ends); k++ {
		from = forth(b, before.at+int(ends[k-1])-1)
		if tokens := counted(from); tokens <= limit {
			return from, tokens
		}
	}
	return p.at, total - p.tokens
}
