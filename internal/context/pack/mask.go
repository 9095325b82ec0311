package pack

import (
	"ctxfs/internal/record"
)

// MaskFunc finds secrets in a text and gives it with them replaced, and which there were. What it gave it leaves as it is.
type MaskFunc func(text string) (string, []Masked)

// SetMask has all that is shown of the log masked. Set it before the first record is added, and not again.
func (w *Workset) SetMask(mask MaskFunc) { w.mask = mask }

// masked masks a text that is shown.
func (w *Workset) masked(text string) (string, []Masked) {
	if w.mask == nil {
		return text, nil
	}
	return w.mask(text)
}

// maskedText is masked for what only counts as text.
func (w *Workset) maskedText(text string) string {
	text, _ = w.masked(text)
	return text
}

// load reads record n as packs show it: a line that holds no message is one block, and no secret is in it. Most records have
// none: that is remembered, so that none is searched twice.
func (w *Workset) load(h record.History, n int) (*record.Record, error) {
	r, err := load(h, n)
	if err != nil || w.mask == nil || w.clean.has(n) {
		return r, err
	}
	var found []Masked
	for i := range r.Blocks {
		b := &r.Blocks[i]
		text, m := w.mask(b.Text)
		input, k := w.mask(b.Input)
		b.Text, b.Input = text, input
		found = addMasked(addMasked(found, m), k)
	}
	if found == nil {
		w.clean.add(n)
		return r, nil
	}
	w.secrets[n] = found
	return r, nil
}

// maxLoaded is how much is kept of the records of the last pack, in bytes of their lines.
const maxLoaded = 512 << 10

// keepLoaded keeps the records that a pack was made of for the next one, which mostly shows the same.
func (w *Workset) keepLoaded(recs map[int]*record.Record) {
	left := maxLoaded
	for n, r := range recs {
		if left -= r.Len; left < 0 {
			left += r.Len
			delete(recs, n)
		}
	}
	w.loaded = recs
}

// addMasked adds up what was masked, by rule.
func addMasked(sum, more []Masked) []Masked {
next:
	for _, m := range more {
		for i := range sum {
			if sum[i].Rule == m.Rule {
				sum[i].Count += m.Count
				continue next
			}
		}
		sum = append(sum, m)
	}
	return sum
}

// bits is a set of record numbers.
type bits []uint64

func (b bits) has(n int) bool { return n/64 < len(b) && b[n/64]&(1<<(n%64)) != 0 }

func (b *bits) add(n int) {
	for n/64 >= len(*b) {
		*b = append(*b, 0)
	}
	(*b)[n/64] |= 1 << (n % 64)
}
