package fsnode

import (
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"ctxfs/internal/keep"
	"ctxfs/internal/session"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// shelf is a Keeper of one process.
type shelf struct {
	mu    sync.Mutex
	names []string
}

func (s *shelf) Keep(name string, _ *os.File) error {
	time.Sleep(time.Millisecond) // others come
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, name)
	return nil
}

func (s *shelf) Drop(string) error    { return nil }
func (s *shelf) File(string) *os.File { return nil }

// newSurviving is a file system over a new store, without a kernel.
func newSurviving(t *testing.T) (surviving, *shelf) {
	t.Helper()
	store, err := session.Open(t.TempDir(), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	mem, err := keep.Create()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mem.Close() })
	region, err := keep.Open(mem, 1)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := os.CreateTemp(t.TempDir(), "nodes")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nodes.Close() })
	kept := &shelf{}
	f, err := New(store, Options{Kept: Kept{Region: region, Nodes: nodes, Files: kept}})
	if err != nil {
		t.Fatal(err)
	}
	return surviving{f}, kept
}

// Several who open a file without a name at the same time have it kept once.
func TestOrphanIsKeptOnce(t *testing.T) {
	a, kept := newSurviving(t)
	const id = 1<<8 | uint64(kPlain)
	for range 3 {
		if _, err := a.handles.add(0, &handle{node: node{id: id}, file: os.Stdin}); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { a.orphan(id) })
	}
	wg.Wait()
	if len(kept.names) != 3 {
		t.Errorf("kept: %v", kept.names)
	}
}

// A process that dies before it told how a mkdir ended made the folder, or did not: one that stood there before is EEXIST to the
// next, which is asked again.
func TestMadeBeforeIsNotMade(t *testing.T) {
	a, _ := newSurviving(t)
	uid := uint32(os.Geteuid())
	unique := uint64(100)
	mkdir := func(dir uint64, name string, resent bool) (fuse.Status, uint64) {
		t.Helper()
		unique += 2
		in, out := fuse.MkdirIn{InHeader: fuse.InHeader{NodeId: dir, Unique: unique, Caller: fuse.Caller{Owner: fuse.Owner{Uid: uid}}}, Mode: 0o700}, fuse.EntryOut{}
		if resent {
			a.region.Begin(unique)
			time.Sleep(20 * time.Millisecond) // what is made now is younger by the coarsest clock
			if name == "mine" {
				if st := a.FS.Mkdir(nil, &in, name, &out); !st.Ok() {
					t.Fatal(st)
				}
			}
			in.Unique |= keep.Resent
		}
		return a.Mkdir(nil, &in, name, &out), out.NodeId
	}
	_, home := mkdir(uint64(kHome), strconv.FormatUint(uint64(uid), 10), false)
	_, agent := mkdir(home&^0xff|uint64(kOwnerAgents), "coder", false)
	for name, dir := range map[string]uint64{"sessions": agent&^0xff | uint64(kSessions), "plain": agent&^0xff | uint64(kContRoot)} {
		if st, _ := mkdir(dir, "lock", false); !st.Ok() {
			t.Fatalf("%s: %v", name, st)
		}
		time.Sleep(20 * time.Millisecond)
		if st, _ := mkdir(dir, "lock", true); st != fuse.Status(unix.EEXIST) {
			t.Errorf("%s: what stood there: %v", name, st)
		}
		if st, id := mkdir(dir, "mine", true); !st.Ok() || id == 0 {
			t.Errorf("%s: what was made: %v", name, st)
		}
		if st, id := mkdir(dir, "late", true); !st.Ok() || id == 0 {
			t.Errorf("%s: what was not made: %v", name, st)
		}
	}
}
