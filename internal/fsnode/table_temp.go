package fsnode

// firstTemp is the first number of what is in memory. Such numbers are in no file, and none is given twice.
const firstTemp = 1 << 40

// inMemory tells whether a node id is one of a temporary session, or of a part of one.
func inMemory(id uint64) bool { return id>>8 >= firstTemp }

// number gives the new entry e a number; mu is held.
func (t *table) number(e *entry) uint64 {
	if !inMemory(e.parent) && kind(e.parent) != kTemps {
		t.next++
		t.mem.gave(0, t.next)
		return t.next - 1
	}
	num := t.temp
	t.temp++
	t.mem.gave(1, t.temp)
	e.temp = num
	if e.kind != kSession {
		up := t.byID[e.parent>>8]
		e.ended = up == nil || up.ended
		if up != nil {
			e.temp = up.temp
		}
	}
	if t.temps[e.temp] == nil {
		t.temps[e.temp] = map[uint64]bool{}
	}
	t.temps[e.temp][num] = true
	return num
}

// known gives the node id of what has a name in a folder, if it is numbered.
func (t *table) known(parent uint64, name string) (uint64, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	num, ok := t.ids[tableKey{parent, name}]
	if !ok {
		return 0, false
	}
	return num<<8 | uint64(t.byID[num].kind), true
}

// unnamed says that something has no name any more; mu is held. In memory it is forgotten when the kernel has.
func (t *table) unnamed(num uint64) {
	e := t.byID[num]
	if e == nil || e.temp == 0 {
		return
	}
	e.ended = true
	if e.lookups <= 0 {
		t.drop(num, e)
	}
}

// drop forgets a number; mu is held.
func (t *table) drop(num uint64, e *entry) {
	e.left.letGo()
	delete(t.byID, num)
	if e.temp == 0 {
		return
	}
	delete(t.temps[e.temp], num)
	if len(t.temps[e.temp]) == 0 {
		delete(t.temps, e.temp)
	}
}

// end says that a temporary session has ended: none of it has a name any more.
func (t *table) end(num uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for part := range t.temps[num] {
		e := t.byID[part]
		if t.ids[tableKey{e.parent, e.name}] == part {
			delete(t.ids, tableKey{e.parent, e.name})
		}
		t.unnamed(part)
	}
}
