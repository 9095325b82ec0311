package token

// A long piece is merged in windows that overlap. That is exact, for a row of tokens is what merging gives when
// each two neighbours are what merging gives of these two alone: whatever merge would be the first over the border
// between two of them, would be made too where there is nothing else. So the tokens of one window, up to one that
// the next window has at the same place, and those of the next one from there on, are the tokens of both.
// Mostly the first token of the next window is such a one.

const (
	overlap  = 64                            // bytes, and up to a token more, that are merged again with what follows
	progress = windowSize - overlap - maxTry // bytes from where a window starts to where the next does, at least
)

// tokens takes the tokens of a piece in their order.
type tokens struct {
	n    int
	ends []int32
	keep bool // ends is wanted
}

func (t *tokens) add(end int) {
	t.n++
	if t.keep {
		t.ends = append(t.ends, int32(end))
	}
}

// long finds the tokens of a piece that is no token itself, in time that grows with its length. Where a window does
// not meet the one before, which no test has seen, the piece is merged as a whole.
func (s *room) long(r *ranks, b []byte, keep bool) tokens {
	w, t := &s.window, tokens{keep: keep}
	w.starts = append(w.starts[:0], 0, 0)
	for from := 0; ; {
		end := min(from+windowSize, len(b))
		s.work += w.merge(r, b[from:end])
		at, ok := w.meet(from, &t)
		if !ok {
			return s.whole(r, b, keep)
		}
		if end == len(b) {
			w.take(from, at, len(b)-from, &t)
			return t
		}
		at = w.take(from, at, windowSize-overlap, &t)
		if at < progress {
			return s.whole(r, b, keep)
		}
		w.leave(from, at)
		from += at
	}
}

// meet adds the tokens of the window before, up to the first that this window, which starts at from, has too. It
// gives the place of that one in this window.
func (w *window) meet(from int, t *tokens) (at int, ok bool) {
	if from == 0 {
		return 0, true
	}
	for i := 0; i+1 < len(w.starts); {
		switch old := w.starts[i] - from; {
		case old > at:
			at = int(w.next[at])
		case old == at && w.starts[i+1]-from == int(w.next[at]):
			return at, true
		default:
			i++
			t.add(w.starts[i])
		}
	}
	return 0, false
}

// take adds the tokens from at on that end at limit or before it, and gives the start of the next one.
func (w *window) take(from, at, limit int, t *tokens) int {
	for at < limit && int(w.next[at]) <= limit {
		at = int(w.next[at])
		t.add(from + at)
	}
	return at
}

// leave keeps the tokens from at on, and where the last one ends, for the next window.
func (w *window) leave(from, at int) {
	w.starts = w.starts[:0]
	for ; at < windowSize; at = int(w.next[at]) {
		w.starts = append(w.starts, from+at)
	}
	w.starts = append(w.starts, from+windowSize)
}
