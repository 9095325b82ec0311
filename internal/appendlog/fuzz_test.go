package appendlog

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"ctxfs/internal/record"

	"golang.org/x/sys/unix"
)

// FuzzWriter cuts bytes into pieces and writes them: each byte ends in the log or in quarantine, in order, and the log
// is made of records. cuts gives the length of each piece, 0 is a Flush.
func FuzzWriter(f *testing.F) {
	f.Add([]byte("{\"a\":1}\n{\"b\":2}\n"), []byte{3, 9, 1})
	f.Add([]byte("{\"a\":1}\nbad\n{\"b\":2}\n{\"c\""), []byte{1, 2, 3, 4, 5})
	f.Add([]byte("{\"a\":1}\r\n{}"), []byte{9, 0, 1, 0})
	f.Add([]byte("{\"a\":1}\n\n{}\n"), []byte{7, 0, 1, 0})
	f.Add([]byte("\x00\x00\x00{}\n\xff\xfe\n"), []byte{200})
	f.Add([]byte("{}\n\n\n{}\n"), []byte{2, 0, 2, 1})
	name := inMemory(f)
	f.Fuzz(func(t *testing.T, data, cuts []byte) {
		must(t, os.Truncate(name, 0))
		file, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
		must(t, err)
		defer file.Close()
		m := &model{}
		m.l, err = New(file, m.kept.take)
		must(t, err)
		m.run(t, data, cuts)
		log := content(t, m.l)
		for line := range bytes.Lines([]byte(log)) {
			if err := record.Check(line); err != nil || line[len(line)-1] != '\n' {
				t.Errorf("in the log: %q, %v", line, err)
			}
		}
		if !bytes.Equal(m.seen, m.want) {
			t.Errorf("wrote %q\nfound %q", m.want, m.seen)
		}
	})
}

// model follows where the bytes of one writer go.
type model struct {
	l    *Log
	kept kept
	seen []byte // what came into the log or the quarantine, in order
	want []byte // what was written; a '\n' that Flush adds counts once
	size int64
	took int
}

func (m *model) run(t *testing.T, data, cuts []byte) {
	w := m.l.NewWriter()
	added := false
	for len(data) > 0 {
		n := len(data)
		if len(cuts) > 0 {
			n, cuts = min(int(cuts[0]), n), cuts[1:]
		}
		if n == 0 {
			pending := w.Pending()
			added = w.Flush() == nil && pending > 0 || added && pending == 0
			if pending > 0 && added {
				m.want = append(m.want, '\n')
			}
			m.look(t)
			continue
		}
		piece := data[:n]
		data = data[n:]
		m.want = append(m.want, piece...)
		if added && piece[0] == '\n' {
			m.want = append(m.want[:len(m.want)-n], piece[1:]...) // it was there already
		}
		added = false
		err := w.Write(piece)
		if before := m.took; m.look(t) == (err == nil) {
			t.Errorf("Write(%q): %v, %d in quarantine, were %d", piece, err, m.took, before)
		}
	}
	if w.Pending() > 0 && w.Flush() == nil {
		m.want = append(m.want, '\n')
	}
	w.Close()
	m.look(t)
}

// look notes what is new in the log and in quarantine, and tells whether the latter grew.
func (m *model) look(t *testing.T) bool {
	buf := make([]byte, m.l.Size()-m.size)
	if _, err := m.l.ReadAt(buf, m.size); err != nil && len(buf) > 0 {
		t.Fatal(err)
	}
	m.size += int64(len(buf))
	m.seen = append(m.seen, buf...)
	grew := len(m.kept.data) > m.took
	for ; m.took < len(m.kept.data); m.took++ {
		m.seen = append(m.seen, m.kept.data[m.took]...)
	}
	return grew
}

// FuzzOpen opens a log that a crash or power loss left as it is: the lines before what is lost stand, those behind it do
// again, an object without its end gets it, all the rest is set aside, and the next one who opens it finds nothing to do.
func FuzzOpen(f *testing.F) {
	for _, s := range []string{"{}\n{}\n", "{}\n{\"a\":", "{}\n\x00\x00\x00{}\n{}\n", "\x00{\n\x00", "{}\n{\"a\":\"\x00\x00\"}\n{}\n{", "\n\n", "no JSON\n"} {
		f.Add([]byte(s))
	}
	name := inMemory(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		must(t, os.WriteFile(name, data, 0o600))
		good, bad := data[:bytes.LastIndexByte(data, '\n')+1], data[bytes.LastIndexByte(data, '\n')+1:]
		if hole := bytes.IndexByte(good, 0); hole >= 0 {
			start := bytes.LastIndexByte(good[:hole], '\n') + 1
			good, bad = data[:start], data[start:]
		}
		want := bytes.Clone(good)
		for _, line := range bytes.SplitAfter(bad, []byte{'\n'}) {
			if bytes.HasSuffix(line, []byte{'\n'}) && !bytes.Contains(line, []byte{0}) {
				want = append(want, line...)
			}
		}
		if record.Check(bad) == nil { // an object that only its '\n' is missing of
			want, bad = append(append(bytes.Clone(good), bad...), '\n'), nil
		}
		for i := range 2 {
			file, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
			must(t, err)
			defer file.Close()
			k := &kept{}
			l, err := New(file, k.take)
			must(t, err)
			if got := content(t, l); got != string(want) {
				t.Errorf("time %d: the log is %q, want %q", i, got, want)
			}
			if got := k.all(); i == 0 && !bytes.Equal(got, bad) || i == 1 && len(got) > 0 {
				t.Errorf("time %d: %q was set aside of %q", i, got, bad)
			}
		}
	})
}

// inMemory names a file that takes no disk, whose fsync is quick.
func inMemory(f *testing.F) string {
	f.Helper()
	fd, err := unix.MemfdCreate("log", unix.MFD_CLOEXEC)
	must(f, err)
	f.Cleanup(func() { must(f, unix.Close(fd)) })
	return fmt.Sprintf("/proc/self/fd/%d", fd)
}
