package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ctxfs/internal/appendlog"
	"ctxfs/internal/beneath"
	"ctxfs/internal/chunkstore"

	"lukechampine.com/blake3"
)

var _ appendlog.Prefix = (*Reader)(nil)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place is a store and the folder that it and the indexes are in.
type place struct {
	top  string
	root *beneath.Dir
	s    *chunkstore.Store
}

func newPlace(t testing.TB) *place { return placeAt(t, t.TempDir(), chunkstore.Options{}) }

func placeAt(t testing.TB, top string, opt chunkstore.Options) *place {
	t.Helper()
	root, err := beneath.Open(top)
	must(t, err)
	s, err := chunkstore.Open(root, "chunk", opt)
	must(t, err)
	t.Cleanup(func() { must(t, errors.Join(s.Close(), root.Close())) })
	return &place{top, root, s}
}

func (p *place) create(t testing.TB, name string, data []byte) *Index {
	t.Helper()
	x, err := Create(p.s, p.root, name, bytes.NewReader(data), beneath.Owner{})
	must(t, err)
	return x
}

func (p *place) seal(t testing.TB) {
	t.Helper()
	must(t, p.s.Update(func(tx *chunkstore.Tx) error { return tx.Seal() }))
}

func (p *place) holds(t testing.TB, name string, data []byte) {
	t.Helper()
	r, err := Open(p.s, p.root, name)
	must(t, err)
	if err := Verify(r, bytes.NewReader(data), int64(len(data))); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	must(t, Check(r))
}

// lines gives n bytes as of a log, of which much repeats.
func lines(seed uint64, n int) []byte {
	rnd := rand.New(rand.NewPCG(seed, 3))
	var b bytes.Buffer
	var old []string
	for b.Len() < n {
		line := fmt.Sprintf(`{"role":"tool","id":%d,"content":"%s %x"}`+"\n", rnd.Uint64(), strings.Repeat("word ", rnd.IntN(200)), rnd.Uint64())
		if len(old) > 0 && rnd.IntN(3) == 0 {
			line = old[rnd.IntN(len(old))]
		}
		old = append(old, line)
		b.WriteString(line)
	}
	return b.Bytes()[:n]
}

// TestRoundTrip archives logs of sizes at which something begins, and reads them in every state of the store.
func TestRoundTrip(t *testing.T) {
	p := newPlace(t)
	logs := map[string][]byte{}
	for i, n := range []int{0, 1, 100, 5000, 70_000, 1 << 20, 4<<20 + 1, 7_000_000} {
		name := fmt.Sprintf("%d.idx", i)
		logs[name] = lines(uint64(i%3), n) // some begin alike
		p.create(t, name, logs[name])
	}
	look := func(p *place) {
		for name, data := range logs {
			p.holds(t, name, data)
		}
	}
	look(p)
	look(placeAt(t, p.top, chunkstore.Options{ReadOnly: true}))
	p.seal(t)
	look(p)
	look(placeAt(t, p.top, chunkstore.Options{ReadOnly: true, CacheBytes: 1}))
}

// TestReadAt holds reads at many offsets, of many lengths, against the plain bytes.
func TestReadAt(t *testing.T) {
	p := newPlace(t)
	data := lines(1, 300_000)
	p.create(t, "x", data)
	p.seal(t)
	r, err := Open(p.s, p.root, "x")
	must(t, err)
	plain := bytes.NewReader(data)
	rnd := rand.New(rand.NewPCG(1, 1))
	for i := range 3000 {
		off := int64(rnd.IntN(len(data) + 20))
		got, want := make([]byte, rnd.IntN(1<<(i%16))), []byte(nil)
		want = make([]byte, len(got))
		n, err := r.ReadAt(got, off)
		m, werr := plain.ReadAt(want, off)
		if len(got) > 0 && (n != m || err != werr || !bytes.Equal(got[:n], want[:m])) {
			t.Fatalf("%d bytes at %d: %d, %v, want %d, %v", len(got), off, n, err, m, werr)
		}
	}
	if _, err := r.ReadAt(nil, -1); err == nil {
		t.Error("a read at -1")
	}
}

// TestAppend: a log goes on behind its archive, and that end is archived too.
func TestAppend(t *testing.T) {
	p := newPlace(t)
	head := append(lines(1, 100_000), '\n')
	x := p.create(t, "log", head)
	r, err := Open(p.s, p.root, "log")
	must(t, err)
	f, err := os.OpenFile(filepath.Join(p.top, "tail"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	must(t, err)
	l, err := appendlog.NewAfter(r, f, nil)
	must(t, err)
	must(t, l.Commit([]byte("{\"n\":1}\n")))
	must(t, l.Commit([]byte("{\"n\":2}\n")))
	all := append(bytes.Clone(head), "{\"n\":1}\n{\"n\":2}\n"...)
	got, err := io.ReadAll(io.NewSectionReader(l, 0, l.Size()))
	if err != nil || !bytes.Equal(got, all) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	tail := io.NewSectionReader(l, x.Size, l.Size()-x.Size)
	must(t, p.s.Update(func(tx *chunkstore.Tx) error {
		y, err := Extend(tx, p.s, x, tail)
		must(t, err)
		b, err := y.Encode()
		must(t, err)
		return p.root.WriteFile("log", b, 0o400, beneath.Owner{})
	}))
	must(t, l.Close())
	p.holds(t, "log", all)
	var out bytes.Buffer
	again, err := Open(p.s, p.root, "log")
	must(t, err)
	if err := Extract(again, &out); err != nil || !bytes.Equal(out.Bytes(), all) {
		t.Errorf("taken out: %d bytes, %v", out.Len(), err)
	}
}

// TestCollect: a collection that is given the indexes' extents takes deleted logs and no others.
func TestCollect(t *testing.T) {
	p := newPlace(t)
	keep, gone := lines(1, 3_000_000), lines(2, 3_000_000)
	p.create(t, "keep", keep)
	p.create(t, "gone", gone)
	y := p.create(t, "again", keep[:2_000_000])
	p.seal(t)
	p.create(t, "late", lines(9, 5_000_000)) // pushes the last frame into a pack
	p.seal(t)
	must(t, p.root.Unlink("gone"))
	must(t, p.root.Unlink("late"))
	x, err := Load(p.root, "keep")
	must(t, err)
	live := chunkstore.Live{Extents: append(x.Extents, y.Extents...), Before: time.Now().Add(time.Hour), Compress: true}
	freed := int64(0)
	must(t, p.s.Collect(func(c *chunkstore.Collection) (err error) {
		c.Make(live)
		freed, err = c.Run()
		return err
	}))
	if freed <= 0 {
		t.Errorf("%d bytes freed", freed)
	}
	p.holds(t, "keep", keep)
	p.holds(t, "again", keep[:2_000_000])
	p.holds(t, "keep", keep)
	placeAt(t, p.top, chunkstore.Options{ReadOnly: true}).holds(t, "keep", keep)
}

// TestWrong: what does not fit is refused, by an error of its kind.
func TestWrong(t *testing.T) {
	p, q := newPlace(t), newPlace(t)
	data := lines(1, 50_000)
	x := p.create(t, "x", data)
	r, err := NewReader(p.s, x)
	must(t, err)
	other := bytes.Clone(data)
	other[44_444] ^= 1
	for name, c := range map[string]struct{ got, want error }{
		"another byte":  {Verify(r, bytes.NewReader(other), int64(len(other))), ErrDiffers},
		"another size":  {Verify(r, bytes.NewReader(data[1:]), int64(len(data)-1)), ErrDiffers},
		"another store": {second(NewReader(q.s, x)), ErrStore},
		"no index":      {second(Open(p.s, p.root, "none")), fs.ErrNotExist},
		"no such bytes": {Check(&Reader{s: p.s, size: 5, start: []int64{0}, addr: []int64{1 << 50}}), chunkstore.ErrCorrupt},
		"another hash":  {Check(&Reader{s: p.s, size: 5, start: []int64{0}, addr: []int64{0}}), chunkstore.ErrCorrupt},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v", name, c.got)
		}
	}
}

func second(_ *Reader, err error) error { return err }

// TestFlip: a bit turned over anywhere in an index, or in the packs, is found; no other bytes are given.
func TestFlip(t *testing.T) {
	p := newPlace(t)
	data := lines(1, 200_000)
	p.create(t, "x", data)
	p.seal(t)
	index, err := os.ReadFile(filepath.Join(p.top, "x"))
	must(t, err)
	for i := range index {
		bad := bytes.Clone(index)
		bad[i] ^= 1 << (i % 8)
		if _, err := Parse(bad); !errors.Is(err, ErrCorrupt) || !errors.Is(err, chunkstore.ErrCorrupt) {
			t.Fatalf("flip at %d: %v", i, err)
		}
	}
	packs, err := filepath.Glob(filepath.Join(p.top, "chunk", "p*"))
	must(t, err)
	if len(packs) != 1 {
		t.Fatalf("%v", packs)
	}
	pack, err := os.ReadFile(packs[0])
	must(t, err)
	for i := 0; i < len(pack); i += 1 + len(pack)/40 {
		pack[i] ^= 8
		must(t, os.WriteFile(packs[0], pack, 0o600))
		r, err := Open(placeAt(t, p.top, chunkstore.Options{ReadOnly: true}).s, p.root, "x")
		must(t, err)
		got := make([]byte, len(data))
		if _, err := r.ReadAt(got, 0); err == nil && !bytes.Equal(got, data) || err != nil && !errors.Is(err, chunkstore.ErrCorrupt) {
			t.Errorf("flip at %d: %v", i, err)
		}
		pack[i] ^= 8
	}
}

// TestForged: an index whose checksum is right, as who may write there can make one, is read only as far as stated.
func TestForged(t *testing.T) {
	many := make([]chunkstore.Extent, maxExtents)
	for i := range many {
		many[i] = chunkstore.Extent{Addr: 7, Len: 1} // columns that compress to nothing
	}
	most := &Index{Size: maxExtents, Extents: many}
	small, err := most.Encode()
	must(t, err)
	if _, err := Parse(small); err != nil || len(small) > 64<<10 {
		t.Errorf("%d bytes, %v", len(small), err)
	}
	if _, err := (&Index{Size: maxExtents + 1, Extents: append(many, many[0])}).Encode(); !errors.Is(err, beneath.ErrTooLarge) {
		t.Errorf("one more is written: %v", err)
	}
	for name, at := range map[string]struct {
		i    int
		bits byte
	}{"a negative size": {47, 0x80}, "another size": {40, 1}} {
		bad := bytes.Clone(small[:len(small)-32])
		bad[at.i] ^= at.bits
		sum := blake3.Sum256(bad)
		bad = append(bad, sum[:]...)
		if _, err := Parse(bad); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		if n, err := SizeOf(bytes.NewReader(bad)); n < 0 || (err == nil) != (at.bits == 1) {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	var cols [3][]byte
	for range maxExtents/2 + 1 {
		cols[0], cols[1], cols[2] = append(cols[0], 1), append(cols[1], 1), append(cols[2], 0)
	}
	if _, err := extents(cols); !errors.Is(err, ErrCorrupt) {
		t.Errorf("too many extents: %v", err)
	}
}

// FuzzParse: an index that is read encodes to one that reads the same.
func FuzzParse(f *testing.F) {
	x := &Index{Store: strings.Repeat("ab", 16), Size: 60, Extents: []chunkstore.Extent{{Addr: 0, Len: 10}, {Addr: 500, Len: 20}, {Addr: 10, Len: 30}}}
	b, err := x.Encode()
	must(f, err)
	f.Add(b)
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n := len(b) - 32; n > 0 { // whoever forges one gets its checksum right
			sum := blake3.Sum256(b[:n])
			b = append(b[:n:n], sum[:]...)
		}
		x, err := Parse(b)
		if err != nil {
			return
		}
		again, err := x.Encode()
		must(t, err)
		y, err := Parse(again)
		if err != nil || fmt.Sprint(y) != fmt.Sprint(x) {
			t.Errorf("%v, %v, want %v", y, err, x)
		}
	})
}

// FuzzColumns: the checksum keeps FuzzParse out of the columns; here they are at its mercy.
func FuzzColumns(f *testing.F) {
	c := columns([]chunkstore.Extent{{Addr: 7, Len: 10}, {Addr: 500, Len: 20}, {Addr: 17, Len: 30}, {Addr: 0, Len: 1}})
	f.Add(c[0], c[1], c[2])
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		list, err := extents([3][]byte{a, b, c})
		if err != nil {
			return
		}
		again, err := extents(columns(list))
		if err != nil || flat(again) != flat(list) {
			t.Errorf("%v, %v, want %v", again, err, list)
		}
	})
}

// flat writes extents with those joined that follow each other.
func flat(list []chunkstore.Extent) string {
	var out []chunkstore.Extent
	for _, e := range list {
		if n := len(out); n > 0 && out[n-1].End() == e.Addr {
			out[n-1].Len += e.Len
		} else {
			out = append(out, e)
		}
	}
	return fmt.Sprint(out)
}
