package keep

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"unsafe"
)

// again opens the memory as the process after one that was killed does: the other mapping is simply left.
func again(t *testing.T, of func() *Region) (*Region, func() *Region) {
	t.Helper()
	if of != nil {
		r := of()
		return r, of
	}
	f, err := Create()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	of = func() *Region {
		r, err := Open(f, 42)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
		return r
	}
	return of(), of
}

func TestSlotsFit(t *testing.T) {
	if n := max(unsafe.Sizeof(Handle{}), unsafe.Sizeof(Writer{})); n > slotSize {
		t.Errorf("a slot of %d bytes", n)
	}
	if n := unsafe.Sizeof(header{}); n > unflushedAt {
		t.Errorf("a header of %d bytes", n)
	}
	if n := unsafe.Sizeof(request{}); n > ringSize {
		t.Errorf("a request of %d bytes", n)
	}
}

func TestNextProcessFindsWhatIsOpen(t *testing.T) {
	r, next := again(t, nil)
	h := r.NewHandle()
	h.Fh, h.Node = r.NextFh(), 7
	h.Advance(Shown{Data: r.Put([]byte("shown")), Bits: 3})
	h.Publish()
	w := r.NewWriter(h.Fh, 9)
	w.Advance(Done{Unique: 12, Partial: r.Put([]byte(`{"half`))})
	lost := r.NewHandle() // killed before it was published
	lost.Fh = r.NextFh()
	closed := r.NewHandle()
	closed.Publish()
	r.Drop(closed)
	if err := r.SetInit([]byte("INIT")); err != nil {
		t.Fatal(err)
	}

	r, _ = again(t, next)
	if r.Workers() != 2 || r.Started() != 42 {
		t.Errorf("worker %d of a mount of %d", r.Workers(), r.Started())
	}
	if init, ok := r.Init(); !ok || string(init) != "INIT" {
		t.Errorf("INIT is %q, %v", init, ok)
	}
	hs, ws := r.Handles(), r.Writers()
	if len(hs) != 1 || len(ws) != 1 {
		t.Fatalf("%d handles and %d writers", len(hs), len(ws))
	}
	if hs[0].Node != 7 || string(r.Bytes(hs[0].Now().Data)) != "shown" || hs[0].Now().Bits != 3 {
		t.Errorf("the handle is %+v", hs[0])
	}
	if ws[0].Fh != hs[0].Fh || ws[0].Owner != 9 || string(r.Bytes(ws[0].Now().Partial)) != `{"half` || ws[0].Now().Unique != 12 {
		t.Errorf("the writer is %+v", ws[0])
	}
	if fh := r.NextFh(); fh != 3 {
		t.Errorf("the next number is %d", fh)
	}
	r.DropWriter(ws[0])
	r.Drop(hs[0])
	if len(r.arena.uses) != 0 {
		t.Errorf("%d places are used by nobody", len(r.arena.uses))
	}
}

func TestShareCopiesOnce(t *testing.T) {
	r, _ := again(t, nil)
	text := bytes.Repeat([]byte("x"), 5000)
	a, b := r.Share(text), r.Share(text)
	if a != b {
		t.Errorf("the same bytes stand at %v and at %v", a, b)
	}
	r.Release(a)
	r.Release(b)
	if c := r.Share(text); c != a {
		t.Errorf("they were forgotten at once: %v, %v", a, c)
	}
	for i := range 100 { // more than is kept of what nobody shows
		e := r.Share(bytes.Repeat([]byte{byte(i)}, 200_000))
		if got := r.Bytes(e); got[0] != byte(i) || len(got) != 200_000 {
			t.Fatalf("%d: %d bytes", i, len(got))
		}
		r.Release(e)
	}
	if r.held > maxIdle {
		t.Errorf("%d bytes are kept", r.held)
	}
}

func TestGrowLeavesTheOld(t *testing.T) {
	r, _ := again(t, nil)
	old := r.Put([]byte("begin"))
	grown := r.Grow(old, []byte("begin and more"), 5)
	if string(r.Bytes(old)) != "begin" || string(r.Bytes(grown)) != "begin and more" {
		t.Errorf("%q, %q", r.Bytes(old), r.Bytes(grown))
	}
	if grown.Off != old.Off {
		t.Error("it moved though there was room")
	}
	long := bytes.Repeat([]byte("y"), 1000)
	if moved := r.Grow(grown, long, 0); moved.Off == grown.Off || !bytes.Equal(r.Bytes(moved), long) {
		t.Errorf("%v, %v", moved, grown)
	}
}

func TestRequestsAreCarriedOutOnce(t *testing.T) {
	r, next := again(t, nil)
	name := filepath.Join(t.TempDir(), "made")
	r.Begin(2)
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(name); err != nil || st.ModTime().Before(r.Since(2)) || r.Since(2).IsZero() || !r.Since(10).IsZero() {
		t.Errorf("begun at %v, made at %v, %v", r.Since(2), st.ModTime(), err)
	}
	if begun, done, _ := r.Begin(4); begun || done {
		t.Error("a new request was begun before")
	}
	r.End(4, 17)
	_, _, _ = r.Begin(6)

	r, _ = again(t, next)
	for _, c := range []struct {
		unique      uint64
		begun, done bool
		errno       int32
	}{{4 | Resent, true, true, 17}, {6 | Resent, true, false, 0}, {8 | Resent, false, false, 0}, {4 + 2*ringSlots, false, false, 0}, {4 | Resent, false, false, 0}} {
		begun, done, errno := r.Begin(c.unique)
		if begun != c.begun || done != c.done || done && errno != c.errno {
			t.Errorf("%#x: begun %v, done %v, errno %d", c.unique, begun, done, errno)
		}
	}
}

// Whatever is opened, changed and closed, and wherever the process dies in between: what is open has its bytes, no two things
// share a place, and nothing else is used.
func TestRandomly(t *testing.T) {
	r, next := again(t, nil)
	rng := rand.New(rand.NewPCG(1, 2))
	fill := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	want := map[uint64][]byte{}
	for range 3000 {
		hs := r.Handles()
		switch {
		case rng.IntN(100) == 0:
			r, _ = again(t, next)
		case len(hs) < 20 || rng.IntN(2) == 0 && len(hs) < 60:
			h := r.NewHandle()
			h.Fh = r.NextFh()
			want[h.Fh] = fill(rng.IntN(3000))
			h.Advance(Shown{Data: r.Put(want[h.Fh])})
			h.Publish()
		case rng.IntN(2) == 0:
			h := hs[rng.IntN(len(hs))]
			delete(want, h.Fh)
			r.Drop(h)
		default:
			h := hs[rng.IntN(len(hs))]
			old := h.Now().Data
			want[h.Fh] = append(bytes.Clone(want[h.Fh]), fill(rng.IntN(500))...)
			e := r.Grow(old, want[h.Fh], int(old.Len))
			h.Advance(Shown{Data: e})
			if e.Off != old.Off {
				r.Release(old)
			}
		}
	}
	hs := r.Handles()
	if len(hs) != len(want) {
		t.Fatalf("%d are open, not %d", len(hs), len(want))
	}
	for _, h := range hs {
		if !bytes.Equal(r.Bytes(h.Now().Data), want[h.Fh]) {
			t.Errorf("%d has other bytes", h.Fh)
		}
		r.Drop(h)
	}
	if len(r.arena.uses) != 0 {
		t.Errorf("%d places are used by nobody", len(r.arena.uses))
	}
}

// Files of which a flush failed are known to the next process, until all of them is on disk.
func TestUnflushed(t *testing.T) {
	r, next := again(t, nil)
	for i := range uint64(maxUnflushed + 10) { // those without room are forgotten
		r.SetUnflushed(1, i, int64(100+i))
	}
	r.SetUnflushed(1, 7, 5) // the first failure counts
	r.ClearUnflushed(1, 8)
	r, _ = again(t, next)
	for ino, want := range map[uint64]int64{7: 107, 8: 0, 9: 109, uint64(maxUnflushed) - 1: 99 + int64(maxUnflushed), uint64(maxUnflushed): 0} {
		if size, failed := r.Unflushed(1, ino); size != want || failed != (want != 0) {
			t.Errorf("inode %d: %d, %v", ino, size, failed)
		}
	}
	if _, failed := r.Unflushed(2, 7); failed {
		t.Error("another device")
	}
	r.SetUnflushed(1, 8, 50) // there is room again
	if size, failed := r.Unflushed(1, 8); size != 50 || !failed {
		t.Errorf("%d, %v", size, failed)
	}
}
