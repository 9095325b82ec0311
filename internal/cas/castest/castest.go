// Package castest holds stores of blobs to their contract. Every implementation of it runs Conform in its tests.
package castest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"testing"

	"ctxfs/internal/cas"
)

// Store is what a blob store must do, whatever stands behind it. Put is atomic, durable and idempotent; Get gives the
// bytes that were put or an error, never others: fs.ErrNotExist for what is not there, cas.ErrCorrupt for what is
// damaged; Each goes through all blobs in id order.
type Store interface {
	Put(data []byte) (cas.ID, error)
	Get(id cas.ID) ([]byte, error)
	Has(id cas.ID) bool
	Each(fn func(id cas.ID, size int64) error, odd func(rel string)) error
}

// Conform holds a store to its contract. empty gives a new one without blobs each time; again gives a second handle
// on the same blobs, as another process would have; damage changes a byte near the end of a blob that is in the store.
func Conform(t *testing.T, empty func(t *testing.T) Store, again func(*testing.T, Store) Store, damage func(*testing.T, Store, cas.ID)) {
	t.Run("empty", func(t *testing.T) {
		s := empty(t)
		if got := listed(t, s); len(got) != 0 {
			t.Errorf("it holds %v", got)
		}
		if data, err := s.Get(cas.Sum(nil)); !errors.Is(err, fs.ErrNotExist) || data != nil || s.Has(cas.Sum(nil)) {
			t.Errorf("Get of nothing: %q, %v", data, err)
		}
	})
	t.Run("round trip", func(t *testing.T) {
		s := empty(t)
		for _, data := range samples() {
			id, err := s.Put(data)
			if err != nil || id != cas.Sum(data) {
				t.Fatalf("Put of %d bytes: %v, %v", len(data), id, err)
			}
			for _, h := range []Store{s, again(t, s)} {
				if got, err := h.Get(id); err != nil || !bytes.Equal(got, data) || !h.Has(id) {
					t.Errorf("Get of %d bytes: %d bytes, %v", len(data), len(got), err)
				}
			}
		}
	})
	t.Run("order", func(t *testing.T) { conformOrder(t, empty(t)) })
	t.Run("idempotent", func(t *testing.T) { conformIdempotent(t, empty(t), again) })
	t.Run("stop", func(t *testing.T) { conformStop(t, empty(t)) })
	t.Run("damage", func(t *testing.T) { conformDamage(t, empty(t), again, damage) })
}

func samples() [][]byte {
	return [][]byte{{}, {0}, []byte("text\n"), bytes.Repeat([]byte{0xff, 0}, 5000), bytes.Repeat([]byte("x"), 1<<20+1)}
}

func listed(t *testing.T, s Store) []cas.ID {
	t.Helper()
	var ids []cas.ID
	must(t, s.Each(func(id cas.ID, _ int64) error { ids = append(ids, id); return nil }, func(rel string) { t.Errorf("odd: %s", rel) }))
	return ids
}

// conformOrder: Each gives every blob once, in id order, with its size.
func conformOrder(t *testing.T, s Store) {
	sizes := map[cas.ID]int64{}
	for i := range 40 {
		data := bytes.Repeat([]byte{byte(i)}, i*37)
		id, err := s.Put(data)
		must(t, err)
		sizes[id] = int64(len(data))
	}
	var last string
	seen := 0
	must(t, s.Each(func(id cas.ID, size int64) error {
		if id.String() <= last || size != sizes[id] {
			t.Errorf("%v after %s, %d bytes, want %d", id, last, size, sizes[id])
		}
		last = id.String()
		seen++
		return nil
	}, nil))
	if seen != 40 {
		t.Errorf("%d blobs, want 40", seen)
	}
}

// conformIdempotent: the same bytes put by many at once are one blob; others that read meanwhile see it whole or not
// at all.
func conformIdempotent(t *testing.T, s Store, again func(*testing.T, Store) Store) {
	var wg sync.WaitGroup
	for g := range 8 {
		h := s
		if g%2 == 1 {
			h = again(t, s)
		}
		wg.Go(func() {
			for i := range 20 {
				data := bytes.Repeat(fmt.Appendf(nil, "blob %d ", i), 500)
				id, err := h.Put(data)
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := h.Get(id); err != nil || !bytes.Equal(got, data) {
					t.Errorf("Get after Put: %d bytes, %v", len(got), err)
				}
			}
		})
	}
	wg.Wait()
	if got := listed(t, s); len(got) != 20 || !slices.IsSortedFunc(got, func(a, b cas.ID) int { return bytes.Compare(a[:], b[:]) }) {
		t.Errorf("%d blobs, want 20 in order", len(got))
	}
}

// conformStop: Each ends with the first error of fn.
func conformStop(t *testing.T, s Store) {
	for _, data := range samples() {
		_, err := s.Put(data)
		must(t, err)
	}
	stop := errors.New("stop")
	calls := 0
	err := s.Each(func(cas.ID, int64) error { calls++; return stop }, nil)
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

// conformDamage: damaged bytes are never given; other blobs stay readable.
func conformDamage(t *testing.T, s Store, again func(*testing.T, Store) Store, damage func(*testing.T, Store, cas.ID)) {
	bad := make([]byte, 10_000) // that nothing shares
	for i := range bad {
		bad[i] = byte(i * i >> 3)
	}
	good, err := s.Put([]byte("to be left alone"))
	must(t, err)
	id, err := s.Put(bad)
	must(t, err)
	damage(t, s, id)
	h := again(t, s)
	if got, err := h.Get(id); !errors.Is(err, cas.ErrCorrupt) || got != nil {
		t.Errorf("Get of a damaged blob: %d bytes, %v", len(got), err)
	}
	if got, err := h.Get(good); err != nil || string(got) != "to be left alone" {
		t.Errorf("Get of another: %q, %v", got, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
