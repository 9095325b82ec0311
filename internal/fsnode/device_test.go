package fsnode

import (
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// go-fuse's pool of buffers is where prefault looks for it.
func TestReadPool(t *testing.T) {
	if readPool(&fuse.Server{}) == nil {
		t.Error("go-fuse keeps its buffers elsewhere: SIGKILL of a worker can give EIO to who writes much at once")
	}
}

// Names of a folder that is being read come back as they were.
func TestItemsAreKept(t *testing.T) {
	want := []item{{name: ".", mode: 0o40000, id: 7}, {name: "", ino: 1 << 60}, {name: "session-1", mode: 0o100000, ino: 12}}
	got := unpackItems(packItems(want))
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %+v, not %+v", i, got[i], want[i])
		}
	}
	if cut := unpackItems(packItems(want)[:60]); len(cut) != 2 {
		t.Errorf("of a part: %+v", cut)
	}
}
