package cas

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"testing"
)

// store is what a blob store must do, whatever stands behind it.
type store interface {
	Put(data []byte) (ID, error)
	Get(id ID) ([]byte, error)
	Each(fn func(id ID, size int64) error, odd func(rel string)) error
}

// conform holds a store to its contract. empty gives a new one without blobs each time; again gives a second handle
// on the same blobs, as another process would have.
func conform(t *testing.T, empty func(t *testing.T) store, again func(store) store) {
	t.Run("empty", func(t *testing.T) {
		s := empty(t)
		if got := listed(t, s); len(got) != 0 {
			t.Errorf("it holds %v", got)
		}
		if data, err := s.Get(Sum(nil)); !errors.Is(err, fs.ErrNotExist) || data != nil {
			t.Errorf("Get of nothing: %q, %v", data, err)
		}
	})
	t.Run("round trip", func(t *testing.T) {
		s := empty(t)
		for _, data := range samples() {
			id, err := s.Put(data)
			if err != nil || id != Sum(data) {
				t.Fatalf("Put of %d bytes: %v, %v", len(data), id, err)
			}
			for _, h := range []store{s, again(s)} {
				if got, err := h.Get(id); err != nil || !bytes.Equal(got, data) {
					t.Errorf("Get of %d bytes: %d bytes, %v", len(data), len(got), err)
				}
			}
		}
	})
	t.Run("order", func(t *testing.T) { conformOrder(t, empty(t)) })
	t.Run("idempotent", func(t *testing.T) { conformIdempotent(t, empty(t), again) })
	t.Run("stop", func(t *testing.T) { conformStop(t, empty(t)) })
}

func samples() [][]byte {
	return [][]byte{{}, {0}, []byte("text\n"), bytes.Repeat([]byte{0xff, 0}, 5000), bytes.Repeat([]byte("x"), 1<<20+1)}
}

func listed(t *testing.T, s store) []ID {
	t.Helper()
	var ids []ID
	must(t, s.Each(func(id ID, _ int64) error { ids = append(ids, id); return nil }, func(rel string) { t.Errorf("odd: %s", rel) }))
	return ids
}

// conformOrder: Each gives every blob once, in id order, with its size.
func conformOrder(t *testing.T, s store) {
	sizes := map[ID]int64{}
	for i := range 40 {
		data := bytes.Repeat([]byte{byte(i)}, i*37)
		id, err := s.Put(data)
		must(t, err)
		sizes[id] = int64(len(data))
	}
	var last string
	seen := 0
	must(t, s.Each(func(id ID, size int64) error {
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
func conformIdempotent(t *testing.T, s store, again func(store) store) {
	var wg sync.WaitGroup
	for g := range 8 {
		h := s
		if g%2 == 1 {
			h = again(s)
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
	if got := listed(t, s); len(got) != 20 || !slices.IsSortedFunc(got, func(a, b ID) int { return bytes.Compare(a[:], b[:]) }) {
		t.Errorf("%d blobs, want 20 in order", len(got))
	}
}

// conformStop: Each ends with the first error of fn.
func conformStop(t *testing.T, s store) {
	for _, data := range samples() {
		_, err := s.Put(data)
		must(t, err)
	}
	stop := errors.New("stop")
	calls := 0
	err := s.Each(func(ID, int64) error { calls++; return stop }, nil)
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}
