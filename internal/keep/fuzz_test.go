package keep

import (
	"bytes"
	"encoding/binary"
	"maps"
	"os"
	"slices"
	"testing"
)

// FuzzRegion does what a file system does, in any order, is killed at any time, and finds what it had: each open file with its
// bytes, each writer with its unfinished line, each request that was carried out. An instruction is three bytes: what, which, how long.
func FuzzRegion(f *testing.F) {
	f.Add([]byte("\x00\x00\x10\x01\x00\x20\x05\x00\x00\x02\x00\x00\x03\x00\x07\x05\x00\x00\x04\x00\x00"), uint32(0), uint64(0))
	f.Add([]byte("\x06\x03\x00\x06\x03\x01\x07\x00\xff\x07\x00\xff\x05\x00\x00\x00\x01\xff\x00\x02\xff\x05\x00\x00"), uint32(40), uint64(1)<<40)
	f.Add([]byte("\x00\x00\x10\x03\x00\x20"), uint32(slotsAt+64), ^uint64(0))
	file, err := Create()
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { file.Close() })
	f.Fuzz(func(t *testing.T, ops []byte, wildAt uint32, wild uint64) {
		m := &held{file: file, files: map[uint64][]byte{}, lines: map[uint64][]byte{}, done: map[uint64]int32{}}
		if err := file.Truncate(headerSize); err != nil {
			t.Fatal(err)
		}
		_, err := file.WriteAt(make([]byte, headerSize), 0)
		if err := errorOf(err, file.Truncate(fileSize)); err != nil {
			t.Fatal(err)
		}
		m.open(t)
		for at := 0; at+3 <= len(ops) && at < 300; at += 3 {
			m.do(t, ops[at]%8, int(ops[at+1]), int(ops[at+2]))
		}
		m.kill(t)
		// A process gone wild writes anywhere but over the number that names the layout: the next one starts all the same.
		binary.LittleEndian.PutUint64(m.r.mem[8+int(wildAt)%(slotsAt+8*slotSize):], wild)
		m.open(t)
		for _, h := range m.r.Handles() {
			_ = bytes.Clone(m.r.Bytes(h.Now().Data))
			m.r.Drop(h)
		}
		for _, w := range m.r.Writers() {
			_ = bytes.Clone(m.r.Bytes(w.Now().Partial))
			m.r.DropWriter(w)
		}
		_, _ = m.r.Init()
		for i := range 40 {
			if e := m.r.Put(make([]byte, 100*i)); !e.sound() {
				t.Errorf("%+v", e)
			}
		}
		m.close(t)
	})
}

func errorOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// held is what must be there.
type held struct {
	file  *os.File
	r     *Region
	files map[uint64][]byte // by Fh
	lines map[uint64][]byte // by Owner
	done  map[uint64]int32
	next  uint64
}

func (m *held) open(t *testing.T) {
	t.Helper()
	var err error
	if m.r, err = Open(m.file, 1); err != nil {
		t.Fatal(err)
	}
}

func (m *held) close(t *testing.T) {
	t.Helper()
	if err := m.r.Close(); err != nil {
		t.Fatal(err)
	}
}

// kill starts the next process, which finds what the last one had.
func (m *held) kill(t *testing.T) {
	t.Helper()
	m.close(t)
	m.open(t)
	files, lines := map[uint64][]byte{}, map[uint64][]byte{}
	for _, h := range m.r.Handles() {
		files[h.Fh] = m.r.Bytes(h.Now().Data)
	}
	for _, w := range m.r.Writers() {
		lines[w.Owner] = m.r.Bytes(w.Now().Partial)
	}
	if !maps.EqualFunc(files, m.files, bytes.Equal) || !maps.EqualFunc(lines, m.lines, bytes.Equal) {
		t.Fatalf("found %d files and %d lines, had %d and %d", len(files), len(lines), len(m.files), len(m.lines))
	}
	for unique, errno := range m.done {
		if begun, done, e := m.r.Begin(unique | Resent); !begun || !done || e != errno {
			t.Fatalf("request %d: %v, %v, %d", unique, begun, done, e)
		}
	}
}

func (m *held) do(t *testing.T, what byte, which, n int) {
	t.Helper()
	m.next++
	if n == 255 && which > 200 {
		n = 300 << 10 // given back to the system at once
	}
	text := bytes.Repeat([]byte{byte(m.next)}, n)
	switch what {
	case 0, 7:
		h := m.r.NewHandle()
		h.Fh = m.r.NextFh()
		if m.files[h.Fh] != nil {
			t.Fatalf("handle %d was given twice", h.Fh)
		}
		data := m.r.Put
		if what == 7 {
			data = m.r.Share
		}
		h.Advance(Shown{Data: data(text)})
		h.Publish()
		m.files[h.Fh] = text
	case 1:
		if h := pick(m.r.Handles(), which); h != nil {
			old := h.Now().Data
			more := slices.Concat(m.r.Bytes(old), text)
			e := m.r.Grow(old, more, int(old.Len))
			h.Advance(Shown{Unique: m.next, Data: e})
			if e.Off != old.Off {
				m.r.Release(old)
			}
			m.files[h.Fh] = more
		}
	case 2:
		if h := pick(m.r.Handles(), which); h != nil {
			delete(m.files, h.Fh)
			m.r.Drop(h)
		}
	case 3:
		w := m.r.NewWriter(1, m.next)
		w.Advance(Done{Partial: m.r.Put(text)})
		m.lines[m.next] = text
	case 4:
		if w := pick(m.r.Writers(), which); w != nil {
			delete(m.lines, w.Owner)
			m.r.DropWriter(w)
		}
	case 5:
		m.kill(t)
	case 6:
		unique := 2 * m.next
		m.r.Begin(unique)
		m.r.End(unique, int32(n))
		m.done[unique] = int32(n)
	}
}

func pick[T any](list []*T, which int) *T {
	if len(list) == 0 {
		return nil
	}
	return list[which%len(list)]
}
