package chunkstore

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ctxfs/internal/beneath"
	"ctxfs/internal/cas"

	"github.com/klauspost/compress/zstd"
)

// files is what stands in a store's folder, by name.
type files map[string][]byte

func snapshot(t testing.TB, top string) files {
	t.Helper()
	out := files{}
	entries, err := os.ReadDir(top)
	must(t, err)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(top, e.Name()))
		must(t, err)
		out[e.Name()] = data
	}
	return out
}

func (f files) with(name string, data []byte) files {
	g := maps.Clone(f)
	g[name] = data
	return g
}

// lay makes a store's folder of f and gives its parent.
func (f files) lay(t testing.TB) string {
	t.Helper()
	top, err := os.MkdirTemp("", "chunkstore-") // in TempDir, thousands would be removed at the end
	must(t, err)
	must(t, os.Mkdir(filepath.Join(top, "chunk"), 0o700))
	for name, data := range f {
		must(t, os.WriteFile(filepath.Join(top, "chunk", name), data, 0o600))
	}
	return top
}

// between gives the states that a crash between two snapshots can leave: files that grew or are new, cut anywhere, the
// others as before; and all of that there, with nothing removed yet. One in step cuts is taken.
func between(old, now files, step int) (out []files) {
	full := maps.Clone(old)
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if bytes.Equal(old[name], now[name]) {
			continue
		}
		full[name] = now[name]
		from := 0
		if bytes.HasPrefix(now[name], old[name]) {
			from = len(old[name])
		}
		if strings.HasPrefix(name, partPrefix) || strings.HasPrefix(name, gonePrefix) || name == formatName {
			from = len(now[name]) // put in place by a rename
		}
		if strings.HasPrefix(name, packPrefix) {
			from = max(from, packHead) // so is a pack with its head
		}
		for n := from; n < len(now[name]); n += step {
			out = append(out, old.with(name, now[name][:n]))
		}
	}
	return append(out, full, now)
}

func small() Options { return Options{Level: zstd.SpeedFastest, Tuning: Tuning{Frame: 2 << 10}} }

// cuts is how far apart the bytes are at which files are cut: all of them take a minute, with CTXFS_CRASH_LONG=1.
func cuts() int {
	if os.Getenv("CTXFS_CRASH_LONG") != "" {
		return 1
	}
	if testing.Short() {
		return 307
	}
	return 151
}

// TestCrash cuts the files of a store at bytes of a sequence of puts and seals: what was acknowledged is there, what is
// listed can be read, and the store takes new blobs.
func TestCrash(t *testing.T) {
	top := t.TempDir()
	s := at(t, top, small())
	top = filepath.Join(top, "chunk")
	var acked []cas.ID
	last := snapshot(t, top)
	for i, n := range []int{0, 10, 300, 700, 0, 900, 1500, 300, 3000, 10} {
		data := noise(uint64(i), n)
		id := put(t, s, data)
		if i%3 == 2 {
			seal(t, s)
		}
		now := snapshot(t, top)
		for _, f := range between(last, now, cuts()) {
			survives(t, f, acked)
		}
		acked, last = append(acked, id), now
	}
}

// TestCrashInACollection does so with a collection: what is alive survives every step of it.
func TestCrashInACollection(t *testing.T) {
	top := t.TempDir()
	s := at(t, top, small())
	var alive []cas.ID
	for i := range 30 {
		id := put(t, s, noise(uint64(i), 700))
		if i%3 == 0 {
			alive = append(alive, id)
		}
	}
	seal(t, s)
	dir := filepath.Join(top, "chunk")
	old := snapshot(t, dir)
	collect(t, s, Live{Blob: among(alive), Before: time.Now().Add(time.Hour)})
	now := snapshot(t, dir)
	for _, f := range steps(old, now, cuts()) {
		survives(t, f, alive)
	}
}

// steps gives the states between the start and the end of a collection: new packs cut anywhere, then the list of those
// that are replaced, then these gone one by one.
func steps(old, now files, step int) []files {
	out := between(old, now, step)
	full := out[len(out)-2] // all old and all new
	var gone []*pack
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if _, ok := now[name]; !ok {
			gone = append(gone, &pack{name: name})
		}
	}
	f := full.with(gonePrefix+hex16(1<<20), formatGone(gone))
	out = append(out, f, full.with(beneath.TempPrefix+"x", []byte("half")))
	for _, p := range gone {
		f = maps.Clone(f)
		delete(f, p.name)
		out = append(out, f)
	}
	return out
}

func survives(t *testing.T, f files, acked []cas.ID) {
	t.Helper()
	top := f.lay(t)
	defer func() { must(t, os.RemoveAll(top)) }()
	s := at(t, top, small())
	defer s.Close()
	names := func() []string { return slices.Sorted(maps.Keys(f)) }
	_, err := s.Check(func(name string, err error) {
		if !errors.Is(err, ErrTorn) {
			t.Errorf("%v: %s: %v", names(), name, err)
		}
	})
	must(t, err)
	readAll(t, s, acked, names)
	little := put(t, s, []byte("little")) // stays in the journal
	l := at(t, top, Options{ReadOnly: true})
	defer l.Close()
	want(t, l, little, []byte("little"))
	fresh := noise(99, 2500)
	id := put(t, s, fresh)
	seal(t, s)
	collect(t, s, Live{Blob: func(cas.ID) bool { return true }})
	r := at(t, top, Options{ReadOnly: true})
	defer r.Close()
	want(t, r, id, fresh)
	readAll(t, r, acked, names)
}

// readAll reads the blobs of acked and all that are listed.
func readAll(t *testing.T, s *Store, acked []cas.ID, names func() []string) {
	t.Helper()
	for _, id := range acked {
		if _, err := s.Get(id); err != nil {
			t.Fatalf("%v: %v", names(), err)
		}
	}
	must(t, s.Each(func(id cas.ID, _ int64) error { _, err := s.Get(id); return err }, nil))
}
