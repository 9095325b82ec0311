package cas

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ctxfs/internal/beneath"
)

func newDir(t *testing.T) (*Dir, string) {
	t.Helper()
	top := t.TempDir()
	root, err := beneath.Open(top)
	must(t, err)
	t.Cleanup(func() { root.Close() })
	return NewDir(root, "deep/blob", beneath.Owner{}), filepath.Join(top, "deep", "blob")
}

// file gives the host path of a blob, as the store format says.
func file(top string, id ID) string {
	name := id.String()
	return filepath.Join(top, name[7:9], name)
}

// TestCorrupt damages a blob's file in each way: Get says so and gives no bytes.
func TestCorrupt(t *testing.T) {
	whole := bytes.Repeat([]byte("0123456789abcdef"), 600)
	for name, damage := range map[string]func(b []byte) []byte{
		"first bit":  func(b []byte) []byte { b[0] ^= 1; return b },
		"last bit":   func(b []byte) []byte { b[len(b)-1] ^= 0x80; return b },
		"middle bit": func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
		"cut":        func(b []byte) []byte { return b[:len(b)-1] },
		"longer":     func(b []byte) []byte { return append(b, 0) },
		"empty":      func([]byte) []byte { return nil },
		"zeros":      func(b []byte) []byte { clear(b); return b },
	} {
		t.Run(name, func(t *testing.T) {
			d, top := newDir(t)
			id, err := d.Put(whole)
			must(t, err)
			p := file(top, id)
			must(t, os.Chmod(p, 0o600))
			must(t, os.WriteFile(p, damage(bytes.Clone(whole)), 0o600))
			if data, err := d.Get(id); !errors.Is(err, ErrCorrupt) || data != nil {
				t.Errorf("Get: %d bytes, %v, want ErrCorrupt", len(data), err)
			}
			st, err := os.Stat(p)
			must(t, err)
			_, err = d.Put(whole)
			must(t, err)
			if got, err := d.Get(id); st.Size() != int64(len(whole)) && (err != nil || !bytes.Equal(got, whole)) {
				t.Errorf("Put did not mend a blob of the wrong length: %v", err)
			}
		})
	}
}

// TestModes: blobs are read-only, and only their owner may read them.
func TestModes(t *testing.T) {
	d, top := newDir(t)
	id, err := d.Put([]byte("x"))
	must(t, err)
	st, err := os.Stat(file(top, id))
	must(t, err)
	dir, err := os.Stat(filepath.Dir(file(top, id)))
	must(t, err)
	if st.Mode().Perm() != 0o400 || dir.Mode().Perm()&0o077 != 0 {
		t.Errorf("modes %v and %v", st.Mode(), dir.Mode())
	}
}

// TestPutIsNews sees that a second Put makes the blob young again: what removes old blobs must spare one that a
// writer is about to name.
func TestPutIsNews(t *testing.T) {
	d, top := newDir(t)
	id, err := d.Put([]byte("x"))
	must(t, err)
	old := time.Now().Add(-48 * time.Hour)
	must(t, os.Chtimes(file(top, id), old, old))
	_, err = d.Put([]byte("x"))
	must(t, err)
	if st, err := os.Stat(file(top, id)); err != nil || time.Since(st.ModTime()) > time.Minute {
		t.Errorf("the blob is of %v, %v", st.ModTime(), err)
	}
}

// TestEachOdd plants what is no blob in every place: each is odd, none hides a blob.
func TestEachOdd(t *testing.T) {
	d, top := newDir(t)
	id, err := d.Put([]byte("x"))
	must(t, err)
	shelf := filepath.Dir(file(top, id))
	other, name := filepath.Join(top, "zz"), Sum([]byte("y")).String()
	must(t, os.MkdirAll(filepath.Join(shelf, name[:7]+filepath.Base(shelf)+name[9:]), 0o700)) // a folder with a blob's name
	must(t, os.MkdirAll(other, 0o700))
	for _, p := range []string{filepath.Join(shelf, "stray"), filepath.Join(shelf, beneath.TempPrefix+"1"), filepath.Join(other, name), filepath.Join(top, "README")} {
		must(t, os.WriteFile(p, []byte("y"), 0o600))
	}
	must(t, os.Symlink(shelf, filepath.Join(top, "link")))
	must(t, os.Symlink(file(top, id), filepath.Join(shelf, "alias")))
	var odd []string
	var ids []ID
	must(t, d.Each(func(id ID, _ int64) error { ids = append(ids, id); return nil }, func(rel string) { odd = append(odd, rel) }))
	s := "deep/blob/" + filepath.Base(shelf) + "/"
	want := []string{s + beneath.TempPrefix + "1", s + "alias", s + "stray", s + name[:7] + filepath.Base(shelf) + name[9:], "deep/blob/README", "deep/blob/link", "deep/blob/zz/" + name}
	slices.Sort(want)
	slices.Sort(odd)
	if !slices.Equal(odd, want) || !slices.Equal(ids, []ID{id}) {
		t.Errorf("blobs %v\nodd  %q\nwant %q", ids, odd, want)
	}
	must(t, d.Each(func(ID, int64) error { return nil }, nil)) // odd may be nil
}

// TestPutFails: where the folder cannot be made, Put says so.
func TestPutFails(t *testing.T) {
	d, top := newDir(t)
	must(t, os.MkdirAll(filepath.Dir(top), 0o755))
	must(t, os.WriteFile(top, nil, 0o600))
	if _, err := d.Put([]byte("x")); err == nil {
		t.Error("Put over a file")
	}
	if _, err := d.Get(Sum(nil)); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Get under a file: %v", err)
	}
}

func TestPutGives(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIP: only root can give files away")
	}
	d, top := newDir(t)
	d.own = beneath.Owner{UID: 4321, GID: 1234, Chown: true}
	id, err := d.Put([]byte("x"))
	must(t, err)
	for p := file(top, id); p != filepath.Dir(filepath.Dir(top)); p = filepath.Dir(p) {
		st, err := d.root.Stat(mustRel(t, filepath.Dir(filepath.Dir(top)), p))
		if err != nil || st.Uid != 4321 || st.Gid != 1234 {
			t.Errorf("%s belongs to %d:%d, %v", p, st.Uid, st.Gid, err)
		}
	}
}

func mustRel(t *testing.T, base, p string) string {
	t.Helper()
	rel, err := filepath.Rel(base, p)
	must(t, err)
	return rel
}

func BenchmarkPut(b *testing.B) {
	root, err := beneath.Open(b.TempDir())
	must(b, err)
	defer root.Close()
	d, data := NewDir(root, "blob", beneath.Owner{}), make([]byte, 8<<10)
	b.SetBytes(int64(len(data)))
	for i := 0; b.Loop(); i++ {
		data[0], data[1], data[2] = byte(i), byte(i>>8), byte(i>>16)
		if _, err := d.Put(data); err != nil {
			b.Fatal(err)
		}
	}
}
