package chunkstore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"ctxfs/internal/beneath"
	"ctxfs/internal/cas"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// at opens the store in the folder top.
func at(t testing.TB, top string, opt Options) *Store {
	t.Helper()
	root := beneathAt(t, top)
	defer root.Close()
	s, err := Open(root, "chunk", opt)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func beneathAt(t testing.TB, top string) *beneath.Dir {
	t.Helper()
	root, err := beneath.Open(top)
	must(t, err)
	return root
}

func newStore(t testing.TB) (*Store, string) {
	t.Helper()
	top := t.TempDir()
	return at(t, top, Options{}), filepath.Join(top, "chunk")
}

// noise gives n bytes of words, which compress and repeat as a log does.
func noise(seed uint64, n int) []byte {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var b bytes.Buffer
	for b.Len() < n {
		fmt.Fprintf(&b, `{"n":%d,"w":"%x"}`+"\n", rnd.IntN(1000), rnd.Uint32())
	}
	return b.Bytes()[:n]
}

func put(t testing.TB, s *Store, data []byte) cas.ID {
	t.Helper()
	id, err := s.Put(data)
	must(t, err)
	return id
}

func want(t testing.TB, s *Store, id cas.ID, data []byte) {
	t.Helper()
	if got, err := s.Get(id); err != nil || !bytes.Equal(got, data) {
		t.Errorf("blob of %d bytes: got %d, %v", len(data), len(got), err)
	}
}

func seal(t testing.TB, s *Store) {
	t.Helper()
	must(t, s.Update(func(tx *Tx) error { return tx.Seal() }))
}

// TestSizes takes blobs of all sizes at which something begins or ends through each state that they go through.
func TestSizes(t *testing.T) {
	s, top := newStore(t)
	var all [][]byte
	for i, n := range []int{0, 1, window - 1, window, window + 1, minFar, minNear, 8 << 10, literalRun, literalRun + 1, dataRecord - 1, dataRecord,
		dataRecord + 1, FrameSize - 1, FrameSize, FrameSize + 1, addPiece, addPiece + 1, 2*FrameSize + 7} {
		if n > 2<<20 && testing.Short() {
			break
		}
		all = append(all, noise(uint64(i), n), bytes.Repeat([]byte{byte(i)}, n))
	}
	for _, data := range all {
		put(t, s, data)
	}
	look := func(state string, s *Store) {
		for _, data := range all {
			if got, err := s.Get(cas.Sum(data)); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s: blob of %d bytes: got %d, %v", state, len(data), len(got), err)
			}
		}
	}
	look("written", s)
	look("read again", at(t, filepath.Dir(top), Options{ReadOnly: true}))
	seal(t, s)
	look("sealed", s)
	look("sealed, opened", at(t, filepath.Dir(top), Options{}))
}

// TestSpace: what is there already costs next to nothing, also when the store was opened anew.
func TestSpace(t *testing.T) {
	s, top := newStore(t)
	first := noise(1, 5<<20)
	put(t, s, first)
	seal(t, s)
	before := size(t, top)
	again := bytes.Clone(first)
	for i := 100; i < len(again); i += 10_000 {
		copy(again[i:], "changed")
	}
	s2 := at(t, filepath.Dir(top), Options{})
	id := put(t, s2, append([]byte("new head\n"), again...))
	seal(t, s2)
	if grown := size(t, top) - before; grown > before/50 {
		t.Errorf("a near copy of %d stored bytes takes %d", before, grown)
	}
	want(t, s2, id, append([]byte("new head\n"), again...))
	want(t, s, id, append([]byte("new head\n"), again...))
}

func size(t testing.TB, top string) (n int64) {
	t.Helper()
	must(t, filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			st, err := d.Info()
			must(t, err)
			n += st.Size()
		}
		return err
	}))
	return n
}

func TestReadOnly(t *testing.T) {
	s, top := newStore(t)
	r := at(t, filepath.Dir(top), Options{ReadOnly: true})
	if _, err := r.Put([]byte("x")); !errors.Is(err, ErrReadOnly) {
		t.Errorf("Put: %v", err)
	}
	id := put(t, s, []byte("text"))
	want(t, r, id, []byte("text")) // and sees what came later
	if r.ID() == "" || r.ID() != s.ID() {
		t.Errorf("ids %q and %q", r.ID(), s.ID())
	}
	root := beneathAt(t, t.TempDir())
	defer root.Close()
	if _, err := Open(root, "none", Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of nothing: %v", err)
	}
}

// TestRenew: another put makes a blob young.
func TestRenew(t *testing.T) {
	top := t.TempDir()
	now := time.Unix(1e9, 0)
	s := at(t, top, Options{Now: func() time.Time { return now }})
	id := put(t, s, []byte("text"))
	now = now.Add(renewAfter / 2 * time.Second)
	put(t, s, []byte("text"))
	if got := s.blob(id).time; got != 1e9 {
		t.Errorf("a put soon after was written down: %d", got)
	}
	now = now.Add(time.Hour)
	put(t, s, []byte("text"))
	if got := at(t, top, Options{}).blob(id).time; got != now.Unix() {
		t.Errorf("the last put was at %d, want %d", got, now.Unix())
	}
}

// TestOtherWriters: several handles on one store, as of several processes, write in turn.
func TestOtherWriters(t *testing.T) {
	a, top := newStore(t)
	b := at(t, filepath.Dir(top), Options{})
	var ids []cas.ID
	for i := range 40 {
		s := a
		if i%3 == 1 {
			s = b
		}
		ids = append(ids, put(t, s, noise(uint64(i%30), 200_000)))
		if i%10 == 9 {
			seal(t, s)
		}
	}
	for i, id := range ids {
		for _, s := range []*Store{a, b, at(t, filepath.Dir(top), Options{ReadOnly: true})} {
			want(t, s, id, noise(uint64(i%30), 200_000))
		}
	}
	if n := size(t, top); n > 4_000_000 {
		t.Errorf("%d bytes stored", n)
	}
}
