package recall

import "slices"

// Splitter takes texts apart into the terms that the index knows them by. Not safe for concurrent use.
type Splitter struct{ scan *scanner }

// NewSplitter is a splitter; one serves many texts.
func NewSplitter() *Splitter { return &Splitter{newScanner()} }

// Terms gives the distinct terms of text, as the hashes that the vocabulary holds, in ascending order.
func (s *Splitter) Terms(text string) []uint32 {
	out := slices.Clone(s.scan.scan(text))
	slices.Sort(out)
	return slices.Compact(out)
}
