package chunkstore

import (
	"bytes"
	"errors"
	"testing"

	"ctxfs/internal/cas"

	"github.com/klauspost/compress/zstd"
)

func isTorn(err error) bool { return errors.Is(err, ErrTorn) }

// FuzzMeta: what parses encodes to something that parses to the same.
func FuzzMeta(f *testing.F) {
	m := &meta{segs: []Extent{{5, 70}, {100, 30}}, anchors: []anchor{{7, 64}, {9, 90}},
		blobs: appendBlob(nil, &blob{id: cas.Sum(nil), time: 1e9, size: 40, extents: []Extent{{5, 30}, {100, 10}}})}
	f.Add(m.encode(), 100)
	f.Add([]byte{}, 0)
	f.Add([]byte{1, 0, 0, 0}, 0)
	f.Fuzz(func(t *testing.T, b []byte, raw int) {
		m, err := parseMeta(b, raw)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("got %v", err)
			}
			return
		}
		again, err := parseMeta(m.encode(), raw)
		if err != nil || !bytes.Equal(again.encode(), m.encode()) {
			t.Errorf("%v", err)
		}
		sp := newSpace([]*frame{{segs: m.segs, raw: raw}})
		for _, e := range m.segs {
			if _, ok := sp.places([]Extent{e}); !ok {
				t.Errorf("%v is nowhere", e)
			}
		}
	})
}

// FuzzFrame: a frame that is not intact gives no bytes, and one that is gives the same ones, whole and in part.
func FuzzFrame(f *testing.F) {
	enc, err := newEncoder(zstd.SpeedFastest, FrameSize)
	must(f, err)
	f.Add(appendFrame(nil, &meta{segs: []Extent{{0, 1000}}}, noise(1, 1000), enc), 10)
	f.Add(appendFrame(nil, &meta{segs: []Extent{{0, 0}}}, nil, enc), 0)
	big := bytes.Repeat(noise(2, 999), 300)
	f.Add(appendFrame(nil, &meta{segs: []Extent{{0, int64(len(big))}}}, big, enc), 140_000)
	dec, err := newDecoder()
	must(f, err)
	f.Fuzz(func(t *testing.T, b []byte, need int) {
		h, err := parseHead(b)
		if err != nil || h.length() > int64(len(b)) {
			return
		}
		z := b[headSize+h.meta:][:h.z]
		raw, err := h.decode(dec, z, h.raw)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("got %v", err)
			}
			return
		}
		need = max(0, min(need, h.raw))
		part, err := h.decode(dec, z, need)
		if err != nil || len(part) < need || !bytes.HasPrefix(raw, part) {
			t.Errorf("%d bytes of %d: %d, %v", need, h.raw, len(part), err)
		}
	})
}

// FuzzJournal: cut anywhere, a journal gives the first of its records, and is not damaged.
func FuzzJournal(f *testing.F) {
	j := appendRecord(newJournal(5), kindData, 5, []byte("some bytes"))
	j = appendRecord(j, kindBlob, 0, appendBlob(nil, &blob{id: cas.Sum(nil), time: 1}))
	f.Add(j, 40)
	f.Add(newJournal(0), 3)
	f.Add([]byte("CJRD"), 2)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		list, valid, damaged := scanJournal(b)
		if valid > int64(len(b)) {
			t.Fatalf("%d of %d bytes are valid", valid, len(b))
		}
		if damaged || cut < 0 || int64(cut) > valid {
			return
		}
		part, _, bad := scanJournal(b[:cut])
		if bad || len(part) > len(list) {
			t.Errorf("cut at %d: %d records of %d, damaged %v", cut, len(part), len(list), bad)
		}
		for i := range part {
			if !bytes.Equal(part[i].body, list[i].body) {
				t.Errorf("record %d differs", i)
			}
		}
	})
}

// FuzzSmall reads the small parts as which b can be meant: a blob's record, a list of packs that are gone, a pack's head. What is
// read is written the same, and a head with a bit turned over is refused.
func FuzzSmall(f *testing.F) {
	f.Add(appendBlob(nil, &blob{id: cas.Sum(nil), time: 1e9, size: 40, extents: []Extent{{100, 30}, {5, 10}}}))
	f.Add(formatGone([]*pack{{name: "pack-0000000000000001"}}))
	f.Add([]byte(goneLine))
	f.Add(newPackHead(77, true))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, n, err := parseBlob(b); err == nil {
			again, _, err := parseBlob(appendBlob(nil, r))
			if n > len(b) || err != nil || again.size != r.size || len(again.extents) != len(r.extents) {
				t.Errorf("%d of %d bytes, %v", n, len(b), err)
			}
		}
		if names, err := parseGone(b); err == nil {
			var packs []*pack
			for _, n := range names {
				packs = append(packs, &pack{name: n})
			}
			if again, err := parseGone(formatGone(packs)); err != nil || len(again) != len(names) {
				t.Errorf("%v, %v", again, err)
			}
		}
		if _, _, err := parsePackHead(b); err == nil {
			for i := range packHead {
				bad := bytes.Clone(b)
				bad[i] ^= 1 << (i % 8)
				if _, _, err := parsePackHead(bad); err == nil {
					t.Errorf("a flip at %d is not seen", i)
				}
			}
		}
	})
}
