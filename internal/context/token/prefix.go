package token

// prefix takes all pieces that fit, then looks for the best cut in the first that does not.
func (c call) prefix(b []byte, limit int) (n, tokens int) {
	if limit <= 0 {
		return 0, 0
	}
	var p, blanks place // blanks is where the pieces of nothing but blanks that end at p begin
	for p.at < len(b) {
		next := c.step(b, p)
		if next.tokens > limit {
			return c.cutPiece(b, blanks, p, next, limit)
		}
		if c.classes.run(b, p.at, blank) < next.at {
			blanks = next
		}
		p = next
	}
	return p.at, p.tokens
}

// cutPiece cuts in the piece from p to next, or beside it. A cut changes no piece before p but blanks: their last
// character is left to what follows, so where they end at the cut, they are one piece more. So a character after
// the piece is tried too; and the start of blanks fits in any case.
func (c call) cutPiece(b []byte, blanks, p, next place, limit int) (n, tokens int) {
	first := forth(b, p.at)
	counted := func(n int) int {
		from := p
		if n <= first {
			from = blanks
		}
		return from.tokens + c.count(b[from.at:n])
	}
	n = next.at
	if c.blankAt(b, n) {
		n = forth(b, n)
	}
	if next.at-p.at > maxTry {
		if n, tokens = c.cutLong(b, p, next, limit, counted); tokens <= limit {
			return n, tokens
		}
	}
	for ; n > blanks.at; n = back(b, n) {
		if tokens = counted(n); tokens <= limit {
			return n, tokens
		}
	}
	return blanks.at, blanks.tokens
}

// cutLong tries the ends of the tokens of the piece from p to next, the last that can fit first, and then p.
func (c call) cutLong(b []byte, p, next place, limit int, counted func(n int) int) (n, tokens int) {
	ends := c.long(c.ranks, b[p.at:next.at], true).ends
	for k := limit - p.tokens; k > 0; k-- {
		n = back(b, p.at+int(ends[k-1])+1)
		if tokens = counted(n); tokens <= limit {
			return n, tokens
		}
	}
	return p.at, counted(p.at)
}
