package fsnode

import (
	"bufio"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"ctxfs/internal/session"
)

// entry is what a number stands for.
type entry struct {
	kind    kind   // kOwner, kContainer, kSession, kNamed or kPlain
	parent  uint64 // node id of the folder
	name    string
	lookups int64  // of a passing kind, or in memory: how often the kernel was given it and did not forget
	temp    uint64 // in memory: the number of the temporary session that it is a part of
	ended   bool   // in memory: it has no name any more
	alias   uint64 // set when a plain file was renamed over a control file: the node that it now is

	cont atomic.Pointer[session.Container]
	sess atomic.Pointer[session.Session]
}

type tableKey struct {
	parent uint64
	name   string
}

// table numbers what is not fixed in the tree. The numbers are kept in a file, so that they outlive the daemon; the
// file needs no fsync, since the kernel's memory of the ids ends with the kernel.
type table struct {
	mu    sync.RWMutex // protects what is below; nothing is locked under it
	next  uint64
	temp  uint64                     // the next one in memory
	temps map[uint64]map[uint64]bool // by the number of a temporary session: the numbers of its parts, itself too
	byID  map[uint64]*entry
	ids   map[tableKey]uint64
	file  *os.File // nil: not kept

	held int    // who gives out many numbers and writes them at the end
	out  []byte // what is still to be written
}

// hold has the numbers that are given out until the function that it gives is called written in one piece.
func (t *table) hold() (done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.held--
		t.flush()
	}
}

// flush writes what is to be written; mu is held. A number that cannot be kept only costs a new one after a restart.
func (t *table) flush() {
	if t.held == 0 && len(t.out) > 0 {
		_, _ = t.file.Write(t.out)
		t.out = t.out[:0]
	}
}

// newTable reads the numbers that f holds and goes on writing there.
func newTable(f *os.File) (*table, error) {
	t := &table{next: 1, temp: firstTemp, temps: map[uint64]map[uint64]bool{}, byID: map[uint64]*entry{}, ids: map[tableKey]uint64{}, file: f}
	if f == nil {
		return t, nil
	}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	lines := 0
	for sc.Scan() {
		t.replay(sc.Text())
		lines++
	}
	if err := sc.Err(); err != nil {
		return nil, err
	}
	if lines > 2*len(t.byID)+1000 {
		return t, t.compact()
	}
	return t, nil
}

// compact writes the file anew with what still counts. A crash on the way costs numbers, which is no loss then: the
// kernel knows none of them yet.
func (t *table) compact() error {
	if err := t.file.Truncate(0); err != nil {
		return err
	}
	nums := make([]uint64, 0, len(t.byID))
	for num := range t.byID {
		nums = append(nums, num)
	}
	slices.Sort(nums)
	for _, num := range nums {
		t.out = appendEntry(t.out, num, t.byID[num])
	}
	_, err := t.file.Write(t.out)
	t.out = nil
	return err
}

// replay takes one line of the file: `num kind parent name`, the name quoted. A line that a crash tore is passed over.
func (t *table) replay(line string) {
	parts := strings.SplitN(line, " ", 4)
	if len(parts) != 4 {
		return
	}
	num, err1 := strconv.ParseUint(parts[0], 10, 40)
	k, err2 := strconv.ParseUint(parts[1], 10, 8)
	parent, err3 := strconv.ParseUint(parts[2], 10, 64)
	name, err4 := strconv.Unquote(parts[3])
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil {
		return
	}
	t.next = max(t.next, num+1)
	if old := t.byID[num]; old != nil {
		delete(t.ids, tableKey{old.parent, old.name})
		delete(t.byID, num)
	}
	if k == 0 { // it was removed
		return
	}
	t.byID[num] = &entry{kind: kind(k), parent: parent, name: name}
	t.ids[tableKey{parent, name}] = num
}

func (t *table) write(num uint64, e *entry) {
	if t.file != nil && num < firstTemp {
		t.out = appendEntry(t.out, num, e)
		t.flush()
	}
}

// appendEntry adds one line of the file to b.
func appendEntry(b []byte, num uint64, e *entry) []byte {
	b = append(strconv.AppendUint(b, num, 10), ' ')
	b = append(strconv.AppendUint(b, uint64(e.kind), 10), ' ')
	b = append(strconv.AppendUint(b, e.parent, 10), ' ')
	return append(strconv.AppendQuote(b, e.name), '\n')
}

// id gives the node id of a thing, numbering it when it is new.
func (t *table) id(k kind, parent uint64, name string) uint64 {
	key := tableKey{parent, name}
	t.mu.RLock()
	num, ok := t.ids[key]
	same := ok && t.byID[num].kind == k
	t.mu.RUnlock()
	if same {
		return num<<8 | uint64(k)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if num, ok := t.ids[key]; ok && t.byID[num].kind == k {
		return num<<8 | uint64(k)
	}
	e := &entry{kind: k, parent: parent, name: strings.Clone(name)} // it may be a part of a whole listing
	num, key.name = t.number(e), e.name
	t.byID[num], t.ids[key] = e, num
	if !k.passing() {
		t.write(num, e)
	}
	return num<<8 | uint64(k)
}

// passing tells whether things of the kind are numbered only while the kernel knows them.
func (k kind) passing() bool { return k == kNamed || k == kSocket }

// get gives the entry of a number, nil when there is none.
func (t *table) get(num uint64) *entry {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byID[num]
}

// where gives an entry's folder and name as they are now.
func (t *table) where(e *entry) (parent uint64, name string, alias uint64) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return e.parent, e.name, e.alias
}

// move says that a thing has another folder and name now. What stood there is gone.
func (t *table) move(oldParent uint64, oldName string, newParent uint64, newName string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	num, ok := t.ids[tableKey{oldParent, oldName}]
	if !ok {
		return
	}
	delete(t.ids, tableKey{oldParent, oldName})
	if over, ok := t.ids[tableKey{newParent, newName}]; ok {
		t.unnamed(over)
	}
	e := t.byID[num]
	e.parent, e.name = newParent, newName
	t.ids[tableKey{newParent, newName}] = num
	t.write(num, e)
}

// remove forgets the name of a thing that was unlinked: the same name made again is another thing.
func (t *table) remove(parent uint64, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if num, ok := t.ids[tableKey{parent, name}]; ok {
		delete(t.ids, tableKey{parent, name})
		t.write(num, &entry{})
		t.unnamed(num)
	}
}

// become says that the thing was renamed over the node target, whose ways it has from now on.
func (t *table) become(parent uint64, name string, target uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := tableKey{parent, name}
	if num, ok := t.ids[key]; ok {
		t.byID[num].alias = target
		delete(t.ids, key)
		t.write(num, &entry{})
		t.unnamed(num)
	}
}

// looked counts a lookup of an entry of a passing kind, or in memory, that goes to the kernel.
func (t *table) looked(num uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.byID[num]; e != nil {
		e.lookups++
	}
}

// forget takes back n lookups. An entry that the kernel does not know any more goes.
func (t *table) forget(num, n uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.byID[num]
	if e == nil || !e.kind.passing() && e.temp == 0 {
		return
	}
	if e.lookups -= int64(n); e.lookups > 0 || !e.kind.passing() && !e.ended {
		return
	}
	t.drop(num, e)
	if t.ids[tableKey{e.parent, e.name}] == num {
		delete(t.ids, tableKey{e.parent, e.name})
	}
}
