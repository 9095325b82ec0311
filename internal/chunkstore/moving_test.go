package chunkstore

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"ctxfs/internal/beneath"
	"ctxfs/internal/cas"
)

// TestReadersWhileBytesMove: readers in other handles, several at once, find every byte while it goes from a journal to
// packs and, by collections, to other packs.
func TestReadersWhileBytesMove(t *testing.T) {
	dir := t.TempDir()
	root, err := beneath.Open(dir)
	must(t, err)
	defer root.Close()
	open := func(opt Options) *Store {
		s, err := Open(root, "chunk", opt)
		must(t, err)
		return s
	}
	w := open(Options{Tuning: Tuning{Frame: 64 << 10}})
	defer w.Close()
	r := open(Options{ReadOnly: true, CacheBytes: 1})
	defer r.Close()
	rnd := rand.NewChaCha8([32]byte{7})
	var mu sync.Mutex
	var all []cas.ID
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for g := range 4 {
		readers.Go(func() {
			pick := rand.New(rand.NewPCG(uint64(g), 1))
			for {
				select {
				case <-stop:
					return
				default:
				}
				mu.Lock()
				var id cas.ID
				if len(all) > 0 {
					id = all[pick.IntN(len(all))]
				}
				mu.Unlock()
				if id == (cas.ID{}) {
					continue
				}
				if data, err := r.Get(id); err != nil || cas.Sum(data) != id {
					t.Errorf("%v: %d bytes, %v", id, len(data), err)
					return
				}
			}
		})
	}
	for i := range 40 {
		data := make([]byte, 20<<10)
		_, _ = rnd.Read(data)
		data = append(data, bytes.Repeat([]byte("again and again "), i)...)
		id, err := w.Put(data)
		must(t, err)
		mu.Lock()
		all = append(all, id)
		mu.Unlock()
		if i%3 == 0 {
			must(t, w.Update(func(tx *Tx) error { return tx.Seal() }))
		}
		if i%5 == 0 {
			must(t, w.Collect(func(c *Collection) error {
				c.Make(Live{Blob: func(cas.ID) bool { return true }, Before: time.Now().Add(time.Hour), Compress: true, Waste: 0.001})
				_, err := c.Run()
				return err
			}))
		}
	}
	close(stop)
	readers.Wait()
}

// TestFilesStay: while a store is copied, file by file, no file goes whose bytes went to another, which may have been copied before.
// When that is over, they go.
func TestFilesStay(t *testing.T) {
	copying := true
	top := t.TempDir()
	w := at(t, top, Options{Tuning: Tuning{Frame: 64 << 10}, Moving: func() (func(), error) {
		if copying {
			return nil, errors.New("it is being copied")
		}
		return func() {}, nil
	}})
	dir := filepath.Join(top, "chunk")
	var ids []cas.ID
	seen := map[string]bool{}
	check := func(gone bool) {
		t.Helper()
		now := map[string]bool{}
		entries, err := os.ReadDir(dir)
		must(t, err)
		for _, e := range entries {
			now[e.Name()] = true
		}
		for name := range seen {
			if !now[name] && !gone {
				t.Errorf("%s went", name)
			}
		}
		seen = now
		other := at(t, top, Options{ReadOnly: true})
		for i, id := range ids {
			if data, err := other.Get(id); err != nil || !bytes.Equal(data, noise(uint64(i), 20<<10)) {
				t.Errorf("blob %d: %d bytes, %v", i, len(data), err)
			}
		}
	}
	for i := range 40 {
		ids = append(ids, put(t, w, noise(uint64(i), 20<<10)))
		if i%10 == 9 {
			must(t, w.Update(func(tx *Tx) error { return tx.Seal() }))
			must(t, w.Close()) // who comes next finds what stands in two places
			w = at(t, top, w.opt)
		}
		check(false)
	}
	before := len(seen)
	copying = false
	ids = append(ids, put(t, w, noise(40, 20<<10)))
	must(t, w.Update(func(tx *Tx) error { return tx.Seal() }))
	check(true)
	if len(seen) >= before {
		t.Errorf("%d files, and %d when the copy was over: %v", before, len(seen), seen)
	}
}
