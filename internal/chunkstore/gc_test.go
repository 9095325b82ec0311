package chunkstore

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ctxfs/internal/cas"
)

func collect(t testing.TB, s *Store, live Live) (plan []Removal, freed int64) {
	t.Helper()
	must(t, s.Collect(func(c *Collection) (err error) {
		c.Make(live)
		plan = c.Plan
		freed, err = c.Run()
		return err
	}))
	return plan, freed
}

func among(ids []cas.ID) func(cas.ID) bool {
	return func(id cas.ID) bool { return slices.Contains(ids, id) }
}

// TestCollect: what nothing names goes and gives its space back, what is named, young, or of an archive stays.
func TestCollect(t *testing.T) {
	now := time.Unix(1e9, 0)
	top := t.TempDir()
	s := at(t, top, Options{Now: func() time.Time { return now }})
	data := func(i int) []byte { return noise(uint64(i), 250_000) }
	var st *Stream
	must(t, s.Update(func(tx *Tx) (err error) { st, err = tx.Add(bytes.NewReader(data(1))); return err }))
	inLog := put(t, s, data(1)[50_000:150_000]) // shares the log's bytes
	var ids []cas.ID
	for i := 2; i < 20; i++ {
		ids = append(ids, put(t, s, data(i)))
	}
	now = now.Add(time.Hour)
	young := put(t, s, data(20))
	seal(t, s)
	put(t, s, noise(77, FrameSize)) // the part file's frame goes to a pack
	seal(t, s)
	dir := filepath.Join(top, "chunk")
	before := size(t, dir)
	plan, freed := collect(t, s, Live{Blob: among(ids[:3]), Extents: st.Extents, Before: now.Add(-time.Minute)})
	after := size(t, dir)
	if freed != before-after || freed < before/3 || len(plan) == 0 {
		t.Errorf("%d bytes before, %d after, %d said to be freed; plan %v", before, after, freed, plan)
	}
	for _, h := range []*Store{s, at(t, top, Options{ReadOnly: true})} {
		for i := range 3 {
			want(t, h, ids[i], data(i+2))
		}
		want(t, h, young, data(20))
		got := make([]byte, st.Size)
		if err := h.ReadExtents(got, st.Extents); err != nil || !bytes.Equal(got, data(1)) {
			t.Errorf("the log's bytes: %v", err)
		}
		for _, id := range append(ids[3:], inLog) {
			if _, err := h.Get(id); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a blob that is gone: %v", err)
			}
		}
	}
	if plan, _ := collect(t, s, Live{Blob: among(ids[:3]), Extents: st.Extents, Before: now.Add(-time.Minute)}); len(plan) != 0 {
		t.Errorf("a second collection would %v", plan)
	}
	want(t, s, put(t, s, data(5)), data(5)) // a blob that was collected comes again
}

// TestCompress: packs that were written quickly shrink, one at a time when there is a limit, and read the same.
func TestCompress(t *testing.T) {
	top := t.TempDir()
	s := at(t, top, Options{Tuning: Tuning{Frame: 64 << 10}})
	var ids []cas.ID
	for i := range 20 {
		ids = append(ids, put(t, s, noise(uint64(i), 60_000)))
	}
	seal(t, s)
	old := s.packs[0]
	must(t, s.update(func() error { _, err := s.newPack(true); return err })) // a second quick one, with the rest
	put(t, s, noise(50, 200_000))
	seal(t, s)
	all := Live{Blob: func(cas.ID) bool { return true }, Compress: true, Limit: 1}
	more := false
	must(t, s.Collect(func(c *Collection) error {
		c.Make(all)
		more = c.More
		_, err := c.Run()
		return err
	}))
	if !more || slices.Contains(s.packs, old) {
		t.Errorf("more %v, packs %v", more, len(s.packs))
	}
	for range 3 {
		collect(t, s, all)
	}
	for _, p := range s.packs {
		if p.quick && len(p.frames) > 0 {
			t.Errorf("%s is as it was", p.name)
		}
	}
	if len(s.packs) > 3 {
		t.Errorf("%d packs", len(s.packs))
	}
	for i, id := range ids {
		want(t, s, id, noise(uint64(i), 60_000))
		want(t, at(t, top, Options{ReadOnly: true}), id, noise(uint64(i), 60_000))
	}
}

// TestFewPacks: many small packs become one.
func TestFewPacks(t *testing.T) {
	top := t.TempDir()
	s := at(t, top, small())
	var ids []cas.ID
	for i := range fewPacks + 3 {
		must(t, s.update(func() error { _, err := s.newPack(true); return err }))
		ids = append(ids, put(t, s, noise(uint64(i), 5000)))
		seal(t, s)
	}
	collect(t, s, Live{Blob: func(cas.ID) bool { return true }})
	if len(s.packs) > 2 {
		t.Errorf("%d packs", len(s.packs))
	}
	for i, id := range ids {
		want(t, s, id, noise(uint64(i), 5000))
	}
}

// TestCollectDamaged: a pack that cannot be read whole stays, with its name in the error, and so does all else alive.
func TestCollectDamaged(t *testing.T) {
	top := t.TempDir()
	s := at(t, top, small())
	var ids []cas.ID
	for i := range 40 {
		ids = append(ids, put(t, s, noise(uint64(i), 3000)))
	}
	seal(t, s)
	bad := s.packs[0]
	src := bad.frames[1].load.(*sealed)
	flip(t, filepath.Join(top, "chunk", bad.name), src.off+20)
	err := s.Collect(func(c *Collection) error {
		c.Make(Live{Blob: among(ids[30:]), Before: time.Now().Add(time.Hour)})
		_, err := c.Run()
		return err
	})
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), bad.name) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(top, "chunk", bad.name)); err != nil {
		t.Error(err)
	}
	for i := 30; i < 40; i++ {
		want(t, at(t, top, Options{ReadOnly: true}), ids[i], noise(uint64(i), 3000))
	}
}

// TestReadBesideCollections: reads, writes and collections at once.
func TestReadBesideCollections(t *testing.T) {
	top := t.TempDir()
	s := at(t, top, small())
	log := noise(1, 100_000)
	var st *Stream
	must(t, s.Update(func(tx *Tx) (err error) { st, err = tx.Add(bytes.NewReader(log)); return err }))
	seal(t, s)
	stop, done := make(chan struct{}), make(chan struct{}, 2)
	for _, h := range []*Store{s, at(t, top, Options{ReadOnly: true, CacheBytes: 1})} {
		go func() {
			defer func() { done <- struct{}{} }()
			got := make([]byte, len(log))
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := h.ReadExtents(got, st.Extents); err != nil || !bytes.Equal(got, log) {
					t.Errorf("beside a collection: %v", err)
					return
				}
			}
		}()
	}
	w := at(t, top, small())
	for i := range 6 {
		put(t, w, noise(uint64(i+9), 20_000))
		seal(t, w)
		collect(t, w, Live{Extents: st.Extents, Before: time.Now().Add(time.Hour)})
	}
	close(stop)
	<-done
	<-done
}

// TestAddFails: a reader's error ends an Add, and takes nothing away.
func TestAddFails(t *testing.T) {
	s, _ := newStore(t)
	id := put(t, s, []byte("text"))
	sick := errors.New("sick")
	err := s.Update(func(tx *Tx) error {
		_, err := tx.Add(io.MultiReader(bytes.NewReader(noise(1, 100)), broken{sick}))
		return err
	})
	if !errors.Is(err, sick) {
		t.Errorf("got %v", err)
	}
	want(t, s, id, []byte("text"))
	want(t, s, put(t, s, noise(2, 1000)), noise(2, 1000))
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }
