package dedup

import "strings"

// Limits of what is compared: smaller texts are not worth a reference, and older ones are mostly out of the window that
// would have to show them. The memory of all of it is bounded, whatever the length of the log.
const (
	nearBytes = 1000 // least size of a text
	nearTexts = 32   // how many of the latest texts are remembered
	nearLines = 1024 // how many lines of a text are looked at
	nearShare = 0.5  // least share of a text's bytes that stand in the other one too
)

// Near finds texts that are nearly the same as one shortly before, line by line: a test's log run again, a listing
// after a change. It keeps hashes of lines, never text.
type Near struct {
	lines  map[uint32]uint32 // hash of a line -> the texts that have it, a bit each
	recent [nearTexts]nearText
	next   int
}

type nearText struct {
	at    Place
	first bool // like none before it
	lines []uint32
}

// Like is an earlier text that a text is like.
type Like struct {
	At     Place
	Shared float64 // of the newer text's bytes: the share of lines that stand in the older one too
}

// NewNear is the fold of no text.
func NewNear() *Near { return &Near{lines: map[uint32]uint32{}} }

// Add folds the text at its place. It gives what the text is like: the most similar text, and the most similar one of
// those that are like nothing before them when that is another; of equals the older.
func (x *Near) Add(text string, at Place) (like []Like) {
	if len(text) < nearBytes {
		return nil
	}
	hashes, shared := x.compare(text)
	best, first := -1, -1
	for i := range nearTexts {
		k := (x.next + i) % nearTexts
		if shared[k] < nearShare {
			continue
		}
		if best < 0 || shared[k] > shared[best] {
			best = k
		}
		if x.recent[k].first && (first < 0 || shared[k] > shared[first]) {
			first = k
		}
	}
	if best >= 0 {
		like = append(like, Like{x.recent[best].at, shared[best]})
	}
	if first >= 0 && first != best {
		like = append(like, Like{x.recent[first].at, shared[first]})
	}
	x.remember(nearText{at, best < 0, hashes})
	return like
}

// compare gives the hashes of text's lines, and the share of it that each remembered text has too.
func (x *Near) compare(text string) (hashes []uint32, shared [nearTexts]float64) {
	var bytes [nearTexts]int
	hashes = make([]uint32, 0, min(strings.Count(text, "\n")+1, nearLines))
	total := 0
	for len(hashes) < nearLines && text != "" {
		var l string
		l, text, _ = strings.Cut(text, "\n")
		h := lineHash(l)
		hashes = append(hashes, h)
		total += len(l) + 1
		for k, in := 0, x.lines[h]; in != 0; k, in = k+1, in>>1 {
			if in&1 == 1 {
				bytes[k] += len(l) + 1
			}
		}
	}
	for k := range bytes {
		shared[k] = float64(bytes[k]) / float64(total)
	}
	return hashes, shared
}

// remember keeps t in place of the oldest.
func (x *Near) remember(t nearText) {
	bit := uint32(1) << x.next
	for _, h := range x.recent[x.next].lines {
		if in := x.lines[h] &^ bit; in != 0 {
			x.lines[h] = in
		} else {
			delete(x.lines, h)
		}
	}
	for _, h := range t.lines {
		x.lines[h] |= bit
	}
	x.recent[x.next] = t
	x.next = (x.next + 1) % nearTexts
}

// lineHash is FNV-1a. Two lines with one hash make two texts look a little more alike, and nothing else.
func lineHash(l string) uint32 {
	h := uint32(2166136261)
	for i := 0; i < len(l); i++ {
		h = (h ^ uint32(l[i])) * 16777619
	}
	return h
}
