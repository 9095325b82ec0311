package chunkstore

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ctxfs/internal/cas"
)

// mixed makes a store with every kind of file that holds something, and gives what it holds, and the file in which the
// last byte of each stands.
func mixed(t *testing.T) (f files, blobs map[cas.ID][]byte, home map[cas.ID]string) {
	top := t.TempDir()
	s := at(t, top, small())
	blobs, home = map[cas.ID][]byte{}, map[cas.ID]string{}
	add := func(i, n int) cas.ID {
		data := noise(uint64(i), n)
		id := put(t, s, data)
		blobs[id] = data
		return id
	}
	for i := range 4 {
		add(i, 1500)
	}
	seal(t, s) // packs, and a part
	for i := range 3 {
		add(10+i, 300) // a journal after the part
	}
	for id := range blobs {
		exts := s.blob(id).extents
		sg, _ := s.space.find(exts[len(exts)-1].End() - 1)
		home[id] = tailPrefix
		if sg.fr.pack != nil {
			home[id] = packPrefix
		}
	}
	return snapshot(t, filepath.Join(top, "chunk")), blobs, home
}

// TestFlip turns over a bit in each file, at many places: no blob reads as other than it was, Check names the file, the
// files that were left alone give all they have, and new blobs do not get in the way of what can still be read.
func TestFlip(t *testing.T) {
	f, blobs, home := mixed(t)
	step := 31
	if testing.Short() {
		step = 127
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		for i := 0; i < len(f[name]); i += step {
			bad := bytes.Clone(f[name])
			bad[i] ^= 1 << (i % 8)
			flipped(t, f.with(name, bad), name, i, blobs, home)
		}
	}
}

func flipped(t *testing.T, f files, name string, i int, blobs map[cas.ID][]byte, home map[cas.ID]string) {
	t.Helper()
	top := f.lay(t)
	defer func() { must(t, os.RemoveAll(top)) }()
	root := beneathAt(t, top)
	defer root.Close()
	s, err := Open(root, "chunk", Options{ReadOnly: true})
	if errors.Is(err, ErrFormat) && name == formatName {
		return // it could be of a later version
	}
	must(t, err)
	defer s.Close()
	found := 0
	_, err = s.Check(func(string, error) { found++ })
	must(t, err)
	if found == 0 {
		t.Errorf("%s: nothing wrong is found after a flip at %d", name, i)
	}
	ok := look(t, s, name, i, blobs, home)
	w := at(t, top, Options{Tuning: Tuning{Frame: 2 << 10}})
	defer w.Close()
	fresh := noise(uint64(1000+i), 5000)
	want(t, w, put(t, w, fresh), fresh)
	seal(t, w)
	want(t, w, cas.Sum(fresh), fresh)
	if again := look(t, w, name, i, blobs, home); again < ok {
		t.Errorf("%s at %d: %d blobs could be read, and %d after another was put", name, i, ok, again)
	}
}

// look counts the blobs that can be read. Those that cannot must say so.
func look(t *testing.T, s *Store, name string, i int, blobs map[cas.ID][]byte, home map[cas.ID]string) (n int) {
	t.Helper()
	for id, data := range blobs {
		got, err := s.Get(id)
		switch {
		case err == nil && bytes.Equal(got, data):
			n++
		case err == nil:
			t.Errorf("%s at %d: a blob of %d bytes reads otherwise", name, i, len(data))
		case !errors.Is(err, ErrCorrupt) && !errors.Is(err, fs.ErrNotExist):
			t.Errorf("%s at %d: %v", name, i, err)
		case !strings.HasPrefix(name, home[id]) && home[id] == packPrefix:
			t.Errorf("%s at %d: a blob in a pack: %v", name, i, err)
		}
	}
	return n
}

// TestOtherVersion: a store of a later version is refused, not misread.
func TestOtherVersion(t *testing.T) {
	f, _, _ := mixed(t)
	top := f.with(formatName, []byte("ctxfs chunk store 2\nid x\n")).lay(t)
	defer func() { must(t, os.RemoveAll(top)) }()
	root := beneathAt(t, top)
	defer root.Close()
	if _, err := Open(root, "chunk", Options{}); !errors.Is(err, ErrFormat) {
		t.Errorf("got %v", err)
	}
}
