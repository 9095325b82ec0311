package fsnode

import (
	"maps"
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
	lookups int64  // of a counted kind, or in memory: how often the kernel was given it and did not forget
	temp    uint64 // in memory: the number of the temporary session that it is a part of
	ended   bool   // in memory: it has no name any more
	alias   uint64 // set when a plain file was renamed over a control file: the node that it now is

	watched atomic.Pointer[watched] // of a session; nil: nothing is

	left left // of a plain file without a name

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
	file  *journal // nil: not kept

	going map[uint64]tableKey // what is being renamed, and to where

	mem *kernelTable // what only the kernel still knows; nil: not kept

	held    int    // who gives out many numbers and writes them at the end
	out     []byte // rows that are still to be written
	outRows int    // how many

	named map[uint64][]uint64 // numbers of generated files found by name, by folder, oldest first
	evict func(parent uint64, name string)
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
	if t.held == 0 {
		t.force()
	}
}

// force is flush for what the next process must know, whoever gives out numbers now.
func (t *table) force() {
	if len(t.out) == 0 {
		return
	}
	_ = t.file.write(t.out, t.outRows)
	t.out, t.outRows = t.out[:0], 0
	if t.file.crowded(len(t.ids)) {
		_ = t.compact() // the old rows say the same
	}
}

// maxNamed is how many generated files of a folder, found by name, the kernel is let hold; the oldest go first. Without it
// a user who asks recall/ for ever new names fills the daemon's memory.
const maxNamed = 1024

// newTable reads the numbers of a journal, which may be nil, and goes on writing there.
func newTable(j *journal) (*table, error) {
	t := &table{next: 1, temp: firstTemp, temps: map[uint64]map[uint64]bool{}, byID: map[uint64]*entry{}, ids: map[tableKey]uint64{}, going: map[uint64]tableKey{}, file: j, named: map[uint64][]uint64{}}
	if j == nil {
		return t, nil
	}
	if err := j.read(t.replay); err != nil {
		return nil, err
	}
	if j.rows > 2*len(t.byID)+1000 {
		return t, t.compact()
	}
	return t, nil
}

// compact replaces the journal by one with the rows that still count.
func (t *table) compact() error {
	nums := make([]uint64, 0, len(t.byID))
	for num, e := range t.byID {
		if num < firstTemp && !e.kind.passing() && t.ids[tableKey{e.parent, e.name}] == num {
			nums = append(nums, num)
		}
	}
	slices.Sort(nums)
	var rows []byte
	for _, num := range nums {
		rows = appendEntry(rows, num, t.byID[num])
	}
	for num, to := range t.going {
		if e := t.byID[num]; e != nil {
			rows = appendGoing(rows, num, e, to)
		}
	}
	return t.file.replace(rows, len(nums)+len(t.going))
}

// replay takes one line of the file: `num kind parent name`, the name quoted; behind `>`, what it is about to become. A line that a
// crash tore is passed over.
func (t *table) replay(line string) {
	line, going := strings.CutPrefix(line, ">")
	num, e, ok := parseEntry(line)
	if !ok {
		return
	}
	if going {
		t.going[num] = tableKey{e.parent, e.name}
		return
	}
	delete(t.going, num)
	t.next = max(t.next, num+1)
	if old := t.byID[num]; old != nil {
		delete(t.ids, tableKey{old.parent, old.name})
		delete(t.byID, num)
	}
	if e.kind == 0 { // it was removed
		return
	}
	t.byID[num] = e
	t.ids[tableKey{e.parent, e.name}] = num
}

func parseEntry(line string) (num uint64, e *entry, ok bool) {
	parts := strings.SplitN(line, " ", 4)
	if len(parts) != 4 {
		return 0, nil, false
	}
	num, err1 := strconv.ParseUint(parts[0], 10, 40)
	k, err2 := strconv.ParseUint(parts[1], 10, 8)
	parent, err3 := strconv.ParseUint(parts[2], 10, 64)
	name, err4 := strconv.Unquote(parts[3])
	return num, &entry{kind: kind(k), parent: parent, name: name}, err1 == nil && err2 == nil && err3 == nil && err4 == nil
}

func (t *table) write(num uint64, e *entry) {
	if t.mem != nil && t.mem.crowded(t.mem.live) {
		_ = t.rewrite() // the old rows say the same
	}
	if e.kind.passing() {
		t.mem.add(num, e)
		return
	}
	if t.file != nil && num < firstTemp {
		t.out = appendEntry(t.out, num, e)
		t.outRows++
		t.flush()
	}
}

// maxRows is how many lines about what is gone may stand in the file: users who make and remove files fill the disk with no
// more than that.
const maxRows = 100_000

// appendEntry adds one line of the file to b.
func appendEntry(b []byte, num uint64, e *entry) []byte {
	b = append(strconv.AppendUint(b, num, 10), ' ')
	b = append(strconv.AppendUint(b, uint64(e.kind), 10), ' ')
	b = append(strconv.AppendUint(b, e.parent, 10), ' ')
	return append(strconv.AppendQuote(b, e.name), '\n')
}

// appendGoing adds the line of what is being renamed.
func appendGoing(b []byte, num uint64, e *entry, to tableKey) []byte {
	return appendEntry(append(b, '>'), num, &entry{kind: e.kind, parent: to.parent, name: to.name})
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
	t.write(num, e)
	if k == kNamed {
		t.crowd(parent, num)
	}
	return num<<8 | uint64(k)
}

// crowd notes a new generated file of a folder. When they are too many, the kernel is asked to let the older half go; mu
// is held.
func (t *table) crowd(parent, num uint64) {
	list := append(t.named[parent], num)
	if len(list) <= maxNamed {
		t.named[parent] = list
		return
	}
	var names []string
	for _, old := range list[:maxNamed/2] {
		if e := t.byID[old]; e != nil {
			names = append(names, e.name)
		}
	}
	t.named[parent] = append([]uint64(nil), list[maxNamed/2:]...)
	if t.evict == nil {
		return
	}
	go func() { // the kernel may hold the folder until the request that asks for this is answered
		for _, name := range names {
			t.evict(parent, name)
		}
	}()
}

// counted tells whether the lookups of things of the kind are counted: what the kernel has forgotten, and is not there
// any more, goes.
func (k kind) counted() bool { return k.passing() || k == kPlain }

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

// moving notes that a thing is about to get another folder and name: if the process dies before move, the next one looks which it
// has (FS.finishMoves).
func (t *table) moving(oldParent uint64, oldName string, newParent uint64, newName string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	num, ok := t.ids[tableKey{oldParent, oldName}]
	if !ok || t.file == nil || num >= firstTemp {
		return
	}
	t.going[num] = tableKey{newParent, newName}
	t.out = appendGoing(t.out, num, t.byID[num], t.going[num])
	t.outRows++
	t.force()
}

// stays says that it kept its name.
func (t *table) stays(parent uint64, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if num, ok := t.ids[tableKey{parent, name}]; ok {
		delete(t.going, num)
		t.write(num, t.byID[num])
		t.force()
	}
}

// unfinished gives what was being renamed, and to where, when the process before this one died.
func (t *table) unfinished() map[uint64]tableKey {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return maps.Clone(t.going)
}

// move says that a thing has another folder and name now. What stood there is gone.
func (t *table) move(oldParent uint64, oldName string, newParent uint64, newName string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	num, ok := t.ids[tableKey{oldParent, oldName}]
	if !ok {
		return
	}
	delete(t.going, num)
	delete(t.ids, tableKey{oldParent, oldName})
	if over, ok := t.ids[tableKey{newParent, newName}]; ok {
		t.mem.unname(over, t.byID[over])
		t.unnamed(over)
	}
	e := t.byID[num]
	e.parent, e.name = newParent, newName
	t.ids[tableKey{newParent, newName}] = num
	t.write(num, e)
	t.force()
}

// remove forgets the name of a thing that was unlinked: the same name made again is another thing.
func (t *table) remove(parent uint64, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if num, ok := t.ids[tableKey{parent, name}]; ok {
		delete(t.ids, tableKey{parent, name})
		t.mem.unname(num, t.byID[num]) // first: between the two, what is open would be nobody's
		t.write(num, &entry{})
		t.force()
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
		t.mem.unname(num, t.byID[num])
		t.write(num, &entry{})
		t.force()
		t.unnamed(num)
	}
}

// looked counts a lookup of an entry of a counted kind, or in memory, that goes to the kernel.
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
	if e == nil || !e.kind.counted() && e.temp == 0 {
		return
	}
	e.left.letGo() // also when it is not known how often the kernel was given it
	e.lookups -= int64(n)
	named := t.ids[tableKey{e.parent, e.name}] == num
	if e.lookups > 0 || !e.kind.passing() && !e.ended && (named || e.temp != 0) {
		return
	}
	t.drop(num, e)
	t.mem.drop(num, e)
	if named {
		delete(t.ids, tableKey{e.parent, e.name})
	}
}
