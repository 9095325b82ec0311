package token

// cl100k matches
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func cl100k(c *classes, b []byte, i int) int {
	k, n := c.at(b, i)
	switch {
	case k&letter != 0:
		return c.letters(b, i+n)
	case k == number:
		return c.digits(b, i+n)
	case k == newline:
		return c.blanks(b, i)
	}
	if n := contraction(b, i); n > 0 {
		return i + n
	}
	next, _ := c.at(b, i+n)
	switch {
	case next&letter != 0:
		return c.letters(b, i+n)
	case k&symbol != 0 || b[i] == ' ' && next&symbol != 0:
		return tail(b, c.run(b, i+n, symbol), '\n')
	}
	return c.blanks(b, i)
}

// p50k, of r50k_base too, matches
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func p50k(c *classes, b []byte, i int) int {
	if n := contraction(b, i); n > 0 && isLower(b[i+1:i+n]) {
		return i + n
	}
	start := i
	if b[i] == ' ' {
		i++
	}
	switch k, n := c.at(b, i); {
	case k&letter != 0:
		return c.letters(b, i+n)
	case k == number:
		return c.run(b, i+n, number)
	case k&symbol != 0:
		return c.run(b, i+n, symbol)
	}
	return c.trailing(b, start, c.run(b, start, blank))
}

func isLower(b []byte) bool {
	for _, c := range b {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}
