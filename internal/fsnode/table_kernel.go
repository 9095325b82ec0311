package fsnode

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"ctxfs/internal/keep"
)

// kernelTable notes, for the next process that serves the mount, the numbers that are in no file of the store, and that the
// kernel may still use: what is found by name, what was removed while it was open. A nil one notes nothing. The table's lock
// is held.
type kernelTable struct {
	*journal
	region *keep.Region
	live   int // rows that count
}

// inherited counts as lookups of an entry that another process made: how often the kernel was given it is not known, so it
// stays.
const inherited = 1 << 40

// add notes an entry of a passing kind.
func (m *kernelTable) add(num uint64, e *entry) {
	if m != nil && num < firstTemp {
		m.live++
		m.note(appendKernel(nil, num, e))
	}
}

// unname notes that an entry has no name any more, and what it became.
func (m *kernelTable) unname(num uint64, e *entry) {
	if m == nil || num >= firstTemp || e == nil {
		return
	}
	m.live++
	m.note(append([]byte("-"+strconv.FormatUint(e.alias, 10)+" "), appendEntry(nil, num, e)...))
}

// drop notes that the kernel does not know an entry any more.
func (m *kernelTable) drop(num uint64, e *entry) {
	if m != nil && num < firstTemp {
		m.live--
		m.note(appendEntry(nil, num, &entry{parent: e.parent}))
	}
}

// gave notes that numbers below next were given; which tells those in memory (1) from others (0).
func (m *kernelTable) gave(which int, next uint64) {
	if m != nil {
		m.region.Counter(which).Store(next)
	}
}

// note adds a row. What cannot be written, for lack of memory, is ESTALE after a crash.
func (m *kernelTable) note(row []byte) { _ = m.write(row, 1) }

// inherit takes over what another process noted, if there was one, and goes on noting.
func (t *table) inherit(j *journal, region *keep.Region) error {
	if region.Workers() > 1 {
		for _, e := range t.byID {
			e.lookups = inherited
		}
	}
	m := &kernelTable{journal: j, region: region}
	if err := j.read(t.replayKernel); err != nil {
		return err
	}
	for num, e := range t.byID {
		if t.noted(num, e) {
			m.live++
		}
	}
	t.next = max(t.next, region.Counter(0).Load())
	t.temp = max(t.temp, region.Counter(1).Load())
	t.mem = m
	if !m.crowded(m.live) {
		return nil
	}
	return t.rewrite()
}

// noted tells whether an entry stands in the kernel's table: it is in no file, or has no name any more.
func (t *table) noted(num uint64, e *entry) bool {
	return num < firstTemp && (e.kind.passing() || t.ids[tableKey{e.parent, e.name}] != num)
}

// replayKernel takes one row: as in the table's file, or with what it became before it.
func (t *table) replayKernel(row string) {
	rest, unnamed := strings.CutPrefix(row, "-")
	alias := uint64(0)
	if unnamed {
		var word string
		word, rest, _ = strings.Cut(rest, " ")
		alias, _ = strconv.ParseUint(word, 10, 64) // a row that a crash tore: 0, and the rest is no row either
	}
	num, e, ok := parseEntry(rest)
	if !ok {
		return
	}
	if old := t.byID[num]; old != nil && t.ids[tableKey{old.parent, old.name}] == num {
		delete(t.ids, tableKey{old.parent, old.name})
	}
	delete(t.byID, num)
	if e.kind == 0 {
		return
	}
	e.lookups, e.alias = inherited, alias
	t.byID[num] = e
	if !unnamed {
		t.ids[tableKey{e.parent, e.name}] = num
		if e.kind == kNamed {
			t.named[e.parent] = append(t.named[e.parent], num)
		}
	}
}

// rewrite replaces the journal by one with the rows that still count.
func (t *table) rewrite() error {
	var rows []byte
	n := 0
	for _, num := range slices.Sorted(maps.Keys(t.byID)) {
		if e := t.byID[num]; t.noted(num, e) {
			rows = appendKernel(rows, num, e)
			n++
		}
	}
	t.mem.live = n
	return t.mem.replace(rows, n)
}

// appendKernel adds the row of an entry: one without a name says so, and what it became.
func appendKernel(b []byte, num uint64, e *entry) []byte {
	if !e.kind.passing() {
		b = append(strconv.AppendUint(append(b, '-'), e.alias, 10), ' ')
	}
	return appendEntry(b, num, e)
}
