package fsnode

import (
	"bufio"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"ctxfs/internal/keep"
)

// kernelTable notes, for the next process that serves the mount, the numbers that are in no file of the store, and that the
// kernel may still use: what is found by name, what was removed while it was open. A nil one notes nothing. The table's lock
// is held.
type kernelTable struct {
	f      *os.File
	region *keep.Region
	rows   int
	live   int
}

// inherited counts as lookups of an entry that another process made: how often the kernel was given it is not known, so it
// stays.
const inherited = 1 << 40

// add notes an entry of a passing kind.
func (m *kernelTable) add(num uint64, e *entry) {
	if m != nil && num < firstTemp {
		m.live++
		m.write(appendEntry(nil, num, e))
	}
}

// unname notes that an entry has no name any more, and what it became.
func (m *kernelTable) unname(num uint64, e *entry) {
	if m == nil || num >= firstTemp || e == nil {
		return
	}
	m.live++
	m.write(append([]byte("-"+strconv.FormatUint(e.alias, 10)+" "), appendEntry(nil, num, e)...))
}

// drop notes that the kernel does not know an entry any more.
func (m *kernelTable) drop(num uint64, e *entry) {
	if m != nil && num < firstTemp {
		m.live--
		m.write(appendEntry(nil, num, &entry{parent: e.parent}))
	}
}

// gave notes that numbers below next were given; which tells those in memory (1) from others (0).
func (m *kernelTable) gave(which int, next uint64) {
	if m != nil {
		m.region.Counter(which).Store(next)
	}
}

// write adds a row. What cannot be written, for lack of memory, is ESTALE after a crash.
func (m *kernelTable) write(row []byte) {
	_, _ = m.f.Write(row)
	m.rows++
}

// inherit takes over what another process noted, if there was one, and goes on noting.
func (t *table) inherit(f *os.File, region *keep.Region) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if region.Workers() > 1 {
		for _, e := range t.byID {
			e.lookups = inherited
		}
	}
	m := &kernelTable{f: f, region: region}
	if err := t.replayKernelAll(m); err != nil {
		return err
	}
	t.next = max(t.next, region.Counter(0).Load())
	t.temp = max(t.temp, region.Counter(1).Load())
	t.mem = m
	if m.rows <= 2*m.live+maxRows {
		return nil // a process that dies while it writes them anew loses some: as seldom as can be
	}
	return t.rewrite()
}

// replayKernelAll takes all rows. Where a crash tore the last one, what is written next starts on a line of its own.
func (t *table) replayKernelAll(m *kernelTable) error {
	in := bufio.NewReader(m.f)
	for {
		row, err := in.ReadString('\n')
		switch {
		case err == io.EOF && row != "":
			m.write([]byte{'\n'})
			fallthrough
		case err == io.EOF:
			for num, e := range t.byID {
				if t.noted(num, e) {
					m.live++
				}
			}
			return nil
		case err != nil:
			return err
		}
		t.replayKernel(strings.TrimSuffix(row, "\n"))
		m.rows++
	}
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

// rewrite writes the rows that still count, in the place of all that were written.
func (t *table) rewrite() error {
	m := t.mem
	if err := m.f.Truncate(0); err != nil {
		return err
	}
	if _, err := m.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	m.rows, m.live = 0, 0
	for _, num := range slices.Sorted(maps.Keys(t.byID)) {
		switch e := t.byID[num]; {
		case !t.noted(num, e):
		case e.kind.passing():
			m.add(num, e)
		default:
			m.unname(num, e)
		}
	}
	return nil
}
