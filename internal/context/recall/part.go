package recall

import "sort"

// posting is one record that has a term, and how often.
type posting struct{ doc, tf uint32 }

// part is the index of a run of records, packed: its terms in order of their keys, each with the gaps between its
// records in Rice codes. About a byte for each word of each record.
type part struct {
	first, count uint32 // its records
	level        uint8  // how often it was merged
	terms        uint32
	keyBits      uint
	words        []uint64
	skips        []skip
}

// skip is where every skipTerms-th term stands. Its key is not in the packed words.
type skip struct{ key, at uint32 }

const skipTerms = 8

// longList is the number of postings from which a list says how many bits it has, so that it can be passed over.
const longList = 32

// partWriter packs a part, term by term in order of keys.
type partWriter struct {
	part
	out  bitWriter
	last uint32
}

// newPartWriter makes a part of count records after the first ones, for about so many terms.
func newPartWriter(first, count, terms uint32, level uint8) *partWriter {
	return &partWriter{part: part{first: first, count: count, level: level, keyBits: riceBits(1<<31, max(terms/2, 1))}}
}

// term packs a term with all of its postings, counted from the part's first record.
func (w *partWriter) term(key uint32, list []posting) {
	if w.terms%skipTerms == 0 {
		w.skips = append(w.skips, skip{key, w.out.at()})
	} else {
		w.out.rice(key-w.last-1, w.keyBits)
	}
	w.last = key
	w.terms++
	df := uint32(len(list))
	w.out.gamma(df)
	start := w.out.at()
	if df >= longList {
		w.out.put(0, 32)
	}
	next, b := uint32(0), riceBits(w.count, df)
	for _, p := range list {
		w.out.riceFlag(p.doc-next, b, p.tf > 1)
		next = p.doc + 1
		if p.tf > 1 {
			w.out.gamma(p.tf - 1)
		}
	}
	if df >= longList {
		w.out.setWord(start, w.out.at()-start)
	}
}

func (w *partWriter) close() *part {
	w.words = w.out.close()
	w.skips = append(make([]skip, 0, len(w.skips)), w.skips...)
	p := w.part
	return &p
}

// cursor walks over the terms of a part.
type cursor struct {
	*part
	in       bitReader
	n        uint32 // terms read
	key, df  uint32
	postings uint32 // where its list stands
}

// walk is a cursor before the skipTerms*i-th term.
func (p *part) walk(i int) cursor {
	return cursor{part: p, in: bitReader{p.words, 0}, n: uint32(i * skipTerms)}
}

// next goes to the next term; the list of the one before must have been read or passed over.
func (c *cursor) next() bool {
	if c.n == c.terms {
		return false
	}
	if c.n%skipTerms == 0 {
		s := c.skips[c.n/skipTerms]
		c.key, c.in.at = s.key, s.at
	} else {
		c.key += c.in.rice(c.keyBits) + 1
	}
	c.n++
	c.df = c.in.gamma()
	c.postings = c.in.at
	return true
}

// pass goes past the list of the term.
func (c *cursor) pass() {
	if c.df >= longList {
		c.in.at = c.postings + c.in.word()
		return
	}
	b := riceBits(c.count, c.df)
	for range c.df {
		c.in.rice(b)
		if c.in.bit() {
			c.in.gamma()
		}
	}
}

// read adds the list of the term to out, up to record upTo.
func (c *cursor) read(out []posting, upTo uint32) []posting {
	in, b := bitReader{c.in.words, c.postings}, riceBits(c.count, c.df)
	if c.df >= longList {
		in.at += 32
	}
	doc := c.first
	for range c.df {
		if doc += in.rice(b); doc > upTo {
			break
		}
		tf := uint32(1)
		if in.bit() {
			tf += in.gamma()
		}
		out = append(out, posting{doc, tf})
		doc++
	}
	return out
}

// find looks for a term.
func (p *part) find(key uint32) (cursor, bool) {
	i := p.skipOf(key)
	if i < 0 {
		return cursor{}, false
	}
	c := p.walk(i)
	for k := 0; k < skipTerms && c.next(); k++ {
		if c.key >= key {
			return c, c.key == key
		}
		c.pass()
	}
	return cursor{}, false
}

// skipOf is the last skip whose key is key at most, -1 when there is none. Keys are hashes, so it is looked for around the place
// where evenly spread ones would have it: on the way there are fewer places to read from memory than when halving.
func (p *part) skipOf(key uint32) int {
	n := len(p.skips)
	at := int(uint64(key) * uint64(n) >> 32)
	low, high := at, at // skips below low have keys up to key, those from high on greater ones
	for step := 16; low > 0 && p.skips[low-1].key > key; step *= 4 {
		high = low - 1
		low = max(low-step, 0)
	}
	for step := 16; high < n && p.skips[high].key <= key; step *= 4 {
		low = high + 1
		high = min(high+step, n)
	}
	return low + sort.Search(high-low, func(i int) bool { return p.skips[low+i].key > key }) - 1
}

// merged is one part in place of several that follow each other.
func merged(parts []*part) *part {
	var count, terms uint32
	cursors, keys := make([]cursor, len(parts)), make([]uint64, len(parts))
	for i, p := range parts {
		count += p.count
		terms = max(terms, p.terms)
		cursors[i] = p.walk(0)
		keys[i] = cursors[i].nextKey()
	}
	w := newPartWriter(parts[0].first, count, 2*terms, parts[0].level+1)
	var list []posting
	for {
		key := uint64(noKey)
		for _, k := range keys {
			key = min(key, k)
		}
		if key == noKey {
			return w.close()
		}
		list = list[:0]
		for i, k := range keys {
			if k == key {
				list = cursors[i].appendTo(list, parts[i].first-parts[0].first)
				keys[i] = cursors[i].nextKey()
			}
		}
		w.term(uint32(key), list)
	}
}

// noKey is greater than all keys.
const noKey = 1 << 32

// nextKey goes to the next term and gives its key.
func (c *cursor) nextKey() uint64 {
	if !c.next() {
		return noKey
	}
	return uint64(c.key)
}

// appendTo reads the whole list, with a number added to its records.
func (c *cursor) appendTo(list []posting, shift uint32) []posting {
	b := riceBits(c.count, c.df)
	if c.df >= longList {
		c.in.at += 32
	}
	for range c.df {
		shift += c.in.rice(b)
		tf := uint32(1)
		if c.in.bit() {
			tf += c.in.gamma()
		}
		list = append(list, posting{shift, tf})
		shift++
	}
	return list
}
