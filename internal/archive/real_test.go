package archive

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ctxfs/internal/beneath"
	"ctxfs/internal/chunkstore"
)

func dataDir() string {
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(filepath.Dir(dir), "shared", "data")
		}
	}
	return ""
}

// TestRealFiles takes every file of ../shared/data into one store, seals, collects half of them away, and holds the
// others against their files, byte for byte.
func TestRealFiles(t *testing.T) {
	var paths []string
	dir := dataDir()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			paths = append(paths, p)
		}
		return err
	})
	if err != nil || len(paths) == 0 {
		t.Skip("SKIP: ../shared/data is not here")
	}
	if testing.Short() {
		paths = every(paths, 12)
	}
	p := newPlace(t)
	for _, path := range paths {
		f, err := os.Open(path)
		must(t, err)
		_, err = Create(p.s, p.root, name(dir, path), f, beneath.Owner{})
		must(t, err)
		must(t, f.Close())
	}
	p.seal(t)
	whole(t, p, dir, paths)
	kept := every(paths, 2)
	live := chunkstore.Live{Before: time.Now().Add(time.Hour), Compress: true}
	for _, path := range kept {
		x, err := Load(p.root, name(dir, path))
		must(t, err)
		live.Extents = append(live.Extents, x.Extents...)
	}
	must(t, p.s.Collect(func(c *chunkstore.Collection) error {
		c.Make(live)
		_, err := c.Run()
		return err
	}))
	whole(t, placeAt(t, p.top, chunkstore.Options{ReadOnly: true}), dir, kept)
	n, err := p.s.Check(func(name string, err error) { t.Errorf("%s: %v", name, err) })
	must(t, err)
	t.Logf("%d files; %+v", len(paths), n)
}

func every(list []string, n int) (out []string) {
	for i := 0; i < len(list); i += n {
		out = append(out, list[i])
	}
	return out
}

func name(dir, path string) string {
	rel, _ := filepath.Rel(dir, path)
	return filepath.Base(filepath.Dir(rel)) + "-" + filepath.Base(rel) + ".idx"
}

func whole(t *testing.T, p *place, dir string, paths []string) {
	t.Helper()
	for _, path := range paths {
		data, err := os.ReadFile(path)
		must(t, err)
		p.holds(t, name(dir, path), data)
	}
}
