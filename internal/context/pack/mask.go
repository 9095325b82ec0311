package pack

import (
	"ctxfs/internal/record"
)

// MaskFunc finds secrets in a text and gives it with them replaced, and which there were. What it gave it leaves as it is.
type MaskFunc func(text string) (string, []Masked)

// SetMask sets the function that masks all that w shows, and the one that counts the masks in a text. Call it at most once,
// before the first record is added.
func (w *Workset) SetMask(mask MaskFunc, masks func(text string) []Masked) {
	w.mask, w.masks = mask, masks
}

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

// load reads record n as packs show it: a line that holds no message is one block, and secrets are masked.
func (w *Workset) load(h record.History, n int) (*record.Record, error) {
	r, err := load(h, n)
	if err == nil {
		w.hide(r)
	}
	return r, err
}

// hide masks the secrets of r. It remembers the records without secrets, most of them, and searches none of these twice. A line
// that holds no message may yet be shown as it is, so nothing is remembered of one without blocks.
func (w *Workset) hide(r *record.Record) {
	if w.mask == nil || w.clean.has(r.N) {
		return
	}
	var found []Masked
	r.Map(func(text string) string {
		text, m := w.mask(text)
		found = addMasked(found, m)
		return text
	})
	switch {
	case len(r.Blocks) == 0:
	case found == nil:
		w.clean.add(r.N)
	default:
		w.secrets[r.N] = found
	}
}

// Masked returns the view of h in which records have no secrets. h must be what w folded. Raw returns the bytes as they are.
func (w *Workset) Masked(h record.History) record.History { return maskedHistory{h, w} }

type maskedHistory struct {
	record.History
	w *Workset
}

// Record returns record n without its secrets.
func (m maskedHistory) Record(n int) (record.Record, error) {
	r, err := m.History.Record(n)
	if err == nil {
		m.w.hide(&r)
	}
	return r, err
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
