package fsnode

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"ctxfs/internal/keep"
	"ctxfs/internal/session"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// world is what a process leaves behind when it is killed: the store, and the memory of what is open.
type world struct {
	t     *testing.T
	dir   string
	mem   *os.File
	nodes *os.File
	a     surviving // the process that runs now
	store *session.Store
	log   uint64 // node id of the log of the only session
	facts uint64 // node id of its facts.jsonl
	next  uint64 // the next request's number
}

func newWorld(t *testing.T) *world {
	t.Helper()
	mem, err := keep.Create()
	must(t, err)
	nodes, err := os.CreateTemp(t.TempDir(), "nodes")
	must(t, err)
	w := &world{t: t, dir: t.TempDir(), mem: mem, nodes: nodes, next: 100}
	t.Cleanup(func() { w.mem.Close(); nodes.Close(); w.store.Close() })
	w.start()
	x := w.makeSession()
	w.log, w.facts = x&^0xff|uint64(kMessages), x&^0xff|uint64(kFacts)
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start starts a process, which restores what the one before it had open.
func (w *world) start() {
	w.t.Helper()
	region, err := keep.Open(w.mem, 1)
	must(w.t, err)
	w.t.Cleanup(func() { region.Close() })
	w.store, err = session.Open(w.dir, session.Options{})
	must(w.t, err)
	f, err := New(w.store, Options{Kept: Kept{Region: region, Nodes: w.nodes, Files: &shelf{}}})
	must(w.t, err)
	w.a = surviving{f}
	must(w.t, f.restore())
}

// kill ends the process, and leaves mem as the memory of what was open.
func (w *world) kill(mem *os.File) {
	w.t.Helper()
	must(w.t, w.store.Close())
	if mem != nil {
		w.mem.Close()
		w.mem = mem
	}
}

// memory copies the memory of what is open as it is now.
func (w *world) memory() *os.File {
	w.t.Helper()
	mem, err := keep.Create()
	must(w.t, err)
	for off := int64(0); ; {
		from, err := unix.Seek(int(w.mem.Fd()), off, unix.SEEK_DATA)
		if err != nil {
			return mem
		}
		to, err := unix.Seek(int(w.mem.Fd()), from, unix.SEEK_HOLE)
		must(w.t, err)
		buf := make([]byte, to-from)
		_, err = w.mem.ReadAt(buf, from)
		must(w.t, err)
		_, err = mem.WriteAt(buf, from)
		must(w.t, err)
		off = to
	}
}

func (w *world) header(node uint64) fuse.InHeader {
	w.next += 2
	return fuse.InHeader{NodeId: node, Unique: w.next, Caller: fuse.Caller{Owner: fuse.Owner{Uid: uint32(os.Geteuid())}}}
}

func (w *world) makeSession() uint64 {
	w.t.Helper()
	mkdir := func(dir uint64, name string) uint64 {
		in, out := fuse.MkdirIn{InHeader: w.header(dir), Mode: 0o700}, fuse.EntryOut{}
		if st := w.a.Mkdir(nil, &in, name, &out); !st.Ok() {
			w.t.Fatal(name, st)
		}
		return out.NodeId
	}
	home := mkdir(uint64(kHome), strconv.Itoa(os.Geteuid()))
	agent := mkdir(home&^0xff|uint64(kOwnerAgents), "coder")
	return mkdir(agent&^0xff|uint64(kSessions), "s")
}

func (w *world) open(node uint64) (fh uint64) {
	w.t.Helper()
	in, out := fuse.OpenIn{InHeader: w.header(node), Flags: unix.O_WRONLY | unix.O_APPEND}, fuse.OpenOut{}
	if st := w.a.Open(nil, &in, &out); !st.Ok() {
		w.t.Fatal(st)
	}
	return out.Fh
}

const owner = 7 // lock owner of the only writer

// write is write(2). unique is that of a request that is sent again, or 0.
func (w *world) write(node, fh, unique uint64, data string) fuse.Status {
	in := fuse.WriteIn{InHeader: w.header(node), Fh: fh, Flags: unix.O_APPEND, LockOwner: owner, Size: uint32(len(data))}
	if unique != 0 {
		in.Unique = unique | keep.Resent
	}
	_, st := w.a.Write(nil, &in, []byte(data))
	return st
}

func (w *world) flush(node, fh, unique uint64) fuse.Status {
	in := fuse.FlushIn{InHeader: w.header(node), Fh: fh, LockOwner: owner}
	if unique != 0 {
		in.Unique = unique | keep.Resent
	}
	return w.a.Flush(nil, &in)
}

func (w *world) release(node, fh uint64) {
	w.a.Release(nil, &fuse.ReleaseIn{InHeader: w.header(node), Fh: fh, LockOwner: owner})
}

// moment is a state in the middle of a request in which a kill may leave the memory.
type moment struct {
	mem  *os.File
	size int64 // of the log
}

// probe notes the moments of a commit.
type probe struct {
	*logWriter
	w       *world
	h       *handle
	moments []moment
}

func (p *probe) note() {
	st, err := p.h.log.File().Stat()
	must(p.w.t, err)
	p.moments = append(p.moments, moment{p.w.memory(), st.Size()})
}

func (p *probe) Begin(at int64, n int) {
	p.note()
	p.logWriter.Begin(at, n)
	p.note()
}

func (p *probe) End(written bool) {
	p.note()
	p.logWriter.End(written)
	p.note()
}

// A line that comes in parts is in the log once, with its own bytes, whenever the process is killed, and killed again
// before the line after it ends. The rest of a write may be longer than what the line before it began with.
func TestPartialLineOverTwoKills(t *testing.T) {
	const p, second, third = `{"a":`, "1}\n{\"long beginning of line 2\"", ":2}\n"
	want := p + second + third
	for at := range 4 {
		for torn := range 3 { // bytes of the commit that are in the file, where that is open
			t.Run(fmt.Sprintf("kill %d, cut %d", at, torn), func(t *testing.T) {
				w := newWorld(t)
				fh := w.open(w.log)
				if st := w.write(w.log, fh, 0, p); !st.Ok() {
					t.Fatal(st)
				}
				h := w.a.handles.get(fh)
				pr := &probe{logWriter: h.writers[owner], w: w, h: h}
				pr.SetJournal(pr)
				if st := w.write(w.log, fh, 0, second); !st.Ok() {
					t.Fatal(st)
				}
				unique, m := w.next, pr.moments[at]
				if at == 1 { // between Begin and the end of write(2)
					m.size = int64([]int{0, 3, len(p) + 3}[torn])
				}
				w.kill(m.mem)
				must(t, os.Truncate(w.path("messages.jsonl"), m.size))
				w.start()
				if st := w.write(w.log, fh, unique, second); !st.Ok() {
					t.Fatal("sent again:", st)
				}
				w.kill(nil) // before line 2 ends
				w.start()
				if st := w.write(w.log, fh, 0, third); !st.Ok() {
					t.Fatal("the end of line 2:", st)
				}
				w.release(w.log, fh)
				if got := w.content("messages.jsonl"); got != want {
					t.Errorf("%q", got)
				}
			})
		}
	}
}

// A line whose writer was killed while it waited is in the log once or not at all, and nothing of it is set aside when
// the open file is closed.
func TestLineOfAKilledWriter(t *testing.T) {
	for at := range 4 {
		w := newWorld(t)
		fh := w.open(w.log)
		w.write(w.log, fh, 0, `{"a":1}`)
		h := w.a.handles.get(fh)
		pr := &probe{logWriter: h.writers[owner], w: w, h: h}
		pr.SetJournal(pr)
		w.write(w.log, fh, 0, "\n{\"b\"")
		m := pr.moments[at]
		w.kill(m.mem)
		must(t, os.Truncate(w.path("messages.jsonl"), m.size))
		w.start()
		w.flush(w.log, fh, 0) // no write comes again
		w.release(w.log, fh)
		if got := w.content("messages.jsonl"); got != "{\"a\":1}\n" {
			t.Errorf("kill %d: %q", at, got)
		}
		if list, _ := os.ReadDir(w.dir + "/home/" + strconv.Itoa(os.Geteuid()) + "/.ctxfs/quarantine"); len(list) > 0 {
			t.Errorf("kill %d: %v in quarantine", at, list)
		}
	}
}

// A process that dies while it adds to a control file: the next one adds the line once, whoever else has added one, and
// however often it is killed itself.
func TestControlAppendOverTwoKills(t *testing.T) {
	const mine, others = `{"fact":"mine"}`, `{"fact":"other"}`
	states := map[string]func(w *world, s *keep.Handle, content []byte){
		"before the intent": func(w *world, _ *keep.Handle, _ []byte) { must(w.t, os.Remove(w.path("context/facts.jsonl"))) },
		"before the change": func(w *world, s *keep.Handle, c []byte) {
			s.Intent.Set(intentOf(w.next, c))
			must(w.t, os.Remove(w.path("context/facts.jsonl")))
		},
		"after the change": func(w *world, s *keep.Handle, c []byte) { s.Intent.Set(intentOf(w.next, c)) },
		"after the outcome": func(w *world, s *keep.Handle, c []byte) {
			s.Intent.Set(intentOf(w.next, c))
			controlIntent{s, w.next}.End(true)
		},
	}
	for name, state := range states {
		for _, close := range []bool{false, true} { // the line is complete at close(2), or at write(2)
			t.Run(fmt.Sprint(name, ", close ", close), func(t *testing.T) {
				w := newWorld(t)
				fh, other := w.open(w.facts), w.open(w.facts)
				line := mine + "\n"
				if close {
					line = mine
					w.write(w.facts, fh, 0, line)
				}
				last := func(unique uint64) fuse.Status {
					if close {
						return w.flush(w.facts, fh, unique)
					}
					return w.write(w.facts, fh, unique, line)
				}
				before := w.memory()
				if st := last(0); !st.Ok() {
					t.Fatal(st)
				}
				unique, content := w.next, []byte(w.content("context/facts.jsonl"))
				w.kill(before)
				r, err := keep.Open(w.mem, 1)
				must(t, err)
				for _, s := range r.Handles() {
					if s.Fh == fh {
						state(w, s, content)
					}
				}
				must(t, r.Close())
				w.start()
				w.kill(nil) // during recovery
				w.start()
				if st := w.write(w.facts, other, 0, others+"\n"); !st.Ok() {
					t.Fatal(st)
				}
				w.kill(nil)
				w.start()
				if st := last(unique); !st.Ok() {
					t.Fatal("sent again:", st)
				}
				got := w.content("context/facts.jsonl")
				if got != mine+"\n"+others+"\n" && got != others+"\n"+mine+"\n" {
					t.Errorf("%q", got)
				}
			})
		}
	}
}

func (w *world) path(file string) string {
	return w.dir + "/home/" + strconv.Itoa(os.Geteuid()) + "/agent/coder/session/s/" + file
}

func (w *world) content(file string) string {
	w.t.Helper()
	data, err := os.ReadFile(w.path(file))
	must(w.t, err)
	return string(data)
}
