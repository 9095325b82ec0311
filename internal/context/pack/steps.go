package pack

import "slices"

// steps is where a log that grows has its pack chosen anew. What stands up to settled is chosen only when the log has
// grown by a wide step, and stands first; in the room that the log has yet to grow into stand older records, in
// portions behind it, of which each small step takes the last one away. So nearly all of the budget is used, an append
// within a small step changes nothing that stands before it, and a small step only the end.
type steps struct {
	documented int // what is up to this record stands in the derived files
	growth     int // tokens kept free, or for portions, for what comes after settled
	portion    int // tokens of one portion
	portions   int // how many of them stand now
	reached    int // the record that the last small step is at
}

// widePortions is how many small steps a wide one has.
func (b *builder) widePortions() int {
	if b.full < smallBudget {
		return 1
	}
	return 2
}

// small is the size of a small step in tokens. It follows the room that is left beside the files, so that these do not
// make the steps wider than the pack. A question that was given by hand is asked once: its pack is always chosen anew.
func (b *builder) small() int {
	if b.in.Query != "" {
		return 0
	}
	if b.full < smallBudget {
		return b.open / 32
	}
	return b.open / 26
}

// settle fixes up to where the log is chosen from.
func (b *builder) settle(m *measure, total, room int) steps {
	b.settled = b.w.Len()
	s := steps{documented: b.settled, portion: b.small()}
	if s.portion == 0 {
		return s
	}
	k := b.widePortions()
	wide := k * s.portion
	from := total / wide * wide
	b.settled = m.reach(b.w, from)
	s.documented = m.reach(b.w, total/(docSteps*wide)*docSteps*wide)
	s.growth = from + wide - m.upTo(b.w, b.settled)
	done := (total - from) / s.portion
	s.portions = k - 1 - done
	s.reached = m.reach(b.w, from+done*s.portion)
	return s
}

// docSteps is how many wide steps the derived files stay as they are: they stand first, so that a step keeps their
// bytes.
const docSteps = 12

// portion chooses the next portion of older records: those right before the window, or before the last portion.
func (b *builder) portion(room int) []int {
	end := b.start
	f := &filler{b: b, room: room, near: room, paid: map[int]bool{}}
	n := end - 1
	for n >= 1 && (f.parted(n) || f.take(n)) {
		n--
	}
	var out []int
	for c := range f.paid {
		if c <= n {
			b.chosen[c] = 0
			out = append(out, c)
		}
	}
	for k := n + 1; k < end; k++ {
		if !b.isChosen(k) && !b.isTask(k) && !b.parted[k] && !b.aside(k) {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	b.start = n + 1
	return out
}

// parted leaves record n out when it answers a call that is written already, without it.
func (f *filler) parted(n int) bool {
	b := f.b
	if b.isChosen(n) || b.isTask(n) {
		return false
	}
	for _, p := range b.w.linksTo(n) {
		if c := int(p.call); b.isTask(c) || b.isChosen(c) && !f.paid[c] {
			b.parted[n] = true
		}
	}
	return b.parted[n]
}
