package token

import "unicode/utf8"

// Prefix gives the length in bytes of the longest prefix of text, cut at a UTF-8 boundary, that counts at most max
// tokens, and its exact count.
func (e *Encoding) Prefix(text string, max int) (n, tokens int) {
	lo, hi := 0, len(text)
	for n, tokens = hi, e.Count(text); tokens > max && n > 0; {
		// Each token is a byte at least: a prefix of max bytes is never over.
		n = lo + (hi-lo)/2
		for n > lo && !utf8.RuneStart(text[n]) {
			n--
		}
		if tokens = e.Count(text[:n]); tokens > max {
			hi = n
		} else if n == lo {
			break
		} else {
			lo, tokens = n, max+1
		}
	}
	return n, tokens
}

// Suffix is as Prefix, from the end of text.
func (e *Encoding) Suffix(text string, max int) (n, tokens int) {
	lo, hi := 0, len(text)
	for n, tokens = hi, e.Count(text); tokens > max && n > 0; {
		n = lo + (hi-lo)/2
		for n > lo && !utf8.RuneStart(text[len(text)-n]) {
			n--
		}
		if tokens = e.Count(text[len(text)-n:]); tokens > max {
			hi = n
		} else if n == lo {
			break
		} else {
			lo, tokens = n, max+1
		}
	}
	return n, tokens
}
