package appendlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/quick"

	"ctxfs/internal/record"
)

// TestWrite feeds one writer piece by piece, and closes it.
func TestWrite(t *testing.T) {
	bad := record.ErrNotObject
	for _, c := range []struct {
		name   string
		pieces []string
		errs   []error // of each piece; missing ones are nil
		log    string
		kept   []string
	}{
		{name: "nothing", pieces: []string{""}},
		{name: "one line", pieces: []string{"{\"a\":1}\n"}, log: "{\"a\":1}\n"},
		{name: "byte at a time", pieces: strings.Split("{\"a\":1}\n{}\n", ""), log: "{\"a\":1}\n{}\n"},
		{name: "two and a half", pieces: []string{"{}\n{\"a\":1}\n{\"b\"", ":2}\n"}, log: "{}\n{\"a\":1}\n{\"b\":2}\n"},
		{name: "CRLF", pieces: []string{"{\"a\":1}\r", "\n{}\r\n"}, log: "{\"a\":1}\r\n{}\r\n"},
		{name: "spaces around", pieces: []string{" \t{\"a\":1} \n"}, log: " \t{\"a\":1} \n"},
		{name: "escaped newline", pieces: []string{`{"a":"x\ny"}`, "\n"}, log: `{"a":"x\ny"}` + "\n"},
		{name: "UTF-8 cut in a rune", pieces: []string{"{\"a\":\"\xc3", "\xa9\"}\n"}, log: "{\"a\":\"é\"}\n"},
		{name: "no end", pieces: []string{`{"a":1}`}, log: "{\"a\":1}\n"},
		{name: "no end, half", pieces: []string{`{"a":`}, kept: []string{`{"a":`}},
		{name: "no end after lines", pieces: []string{"{}\n{\"a", "\":"}, log: "{}\n", kept: []string{`{"a":`}},

		{name: "text", pieces: []string{"hello\n"}, errs: []error{bad}, kept: []string{"hello\n"}},
		{name: "array", pieces: []string{"[1]\n"}, errs: []error{bad}, kept: []string{"[1]\n"}},
		{name: "string", pieces: []string{"\"{}\"\n"}, errs: []error{bad}, kept: []string{"\"{}\"\n"}},
		{name: "null", pieces: []string{"null\n"}, errs: []error{bad}, kept: []string{"null\n"}},
		{name: "empty line", pieces: []string{"\n"}, errs: []error{bad}, kept: []string{"\n"}},
		{name: "blank line", pieces: []string{" \r\n"}, errs: []error{bad}, kept: []string{" \r\n"}},
		{name: "two objects", pieces: []string{"{}{}\n"}, errs: []error{bad}, kept: []string{"{}{}\n"}},
		{name: "object and more", pieces: []string{"{} x\n"}, errs: []error{bad}, kept: []string{"{} x\n"}},
		{name: "NUL before", pieces: []string{"\x00\x00{}\n"}, errs: []error{bad}, kept: []string{"\x00\x00{}\n"}},
		{name: "NUL inside", pieces: []string{"{\"a\":\"\x00\"}\n"}, errs: []error{bad}, kept: []string{"{\"a\":\"\x00\"}\n"}},
		{name: "NUL after", pieces: []string{"{}\x00\n"}, errs: []error{bad}, kept: []string{"{}\x00\n"}},
		{name: "not UTF-8", pieces: []string{"{\"a\":\"\xff\"}\n"}, errs: []error{bad}, kept: []string{"{\"a\":\"\xff\"}\n"}},
		{name: "BOM", pieces: []string{"\ufeff{}\n"}, errs: []error{bad}, kept: []string{"\ufeff{}\n"}},

		{name: "good, bad, good", pieces: []string{"{\"a\":1}\nbad\n{\"b\":2}\n{\"c"}, errs: []error{bad},
			log: "{\"a\":1}\n", kept: []string{"bad\n{\"b\":2}\n{\"c"}},
		{name: "bad over pieces", pieces: []string{"{\"a\":1}\nb", "a", "d\n{\"b\":2}\n", "{\"c\":3}\n"}, errs: []error{nil, nil, bad, nil},
			log: "{\"a\":1}\n{\"c\":3}\n", kept: []string{"bad\n{\"b\":2}\n"}},
		{name: "bad twice", pieces: []string{"x\n", "{}\n", "y\n", "{}\n"}, errs: []error{bad, nil, bad, nil}, log: "{}\n{}\n", kept: []string{"x\n", "y\n"}},
		{name: "good end after bad", pieces: []string{"x\n", "{}"}, errs: []error{bad, nil}, log: "{}\n", kept: []string{"x\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, k := newLog(t, "")
			w := l.NewWriter()
			for i, p := range c.pieces {
				var want error
				if i < len(c.errs) {
					want = c.errs[i]
				}
				if err := w.Write([]byte(p)); !errors.Is(err, want) {
					t.Errorf("Write(%q): %v, want %v", p, err, want)
				}
			}
			w.Close()
			if got := content(t, l); got != c.log {
				t.Errorf("the log is %q, want %q", got, c.log)
			}
			if got, want := asStrings(k.data), c.kept; strings.Join(got, "|") != strings.Join(want, "|") || len(got) != len(want) {
				t.Errorf("quarantine holds %q, want %q", got, want)
			}
			if w.Pending() != 0 {
				t.Errorf("%d bytes are pending after Close", w.Pending())
			}
		})
	}
}

func asStrings(list [][]byte) []string {
	var out []string
	for _, b := range list {
		out = append(out, string(b))
	}
	return out
}

// TestFlush: a close(2) that may not be the last commits a whole record, and reports a half one without losing it.
func TestFlush(t *testing.T) {
	type step struct {
		write string // "": Flush
		err   error
	}
	for _, c := range []struct {
		name  string
		steps []step
		log   string
		kept  string
	}{
		{"end comes later", []step{{write: `{"a":1}`}, {}, {write: "\n"}, {write: "{}\n"}}, "{\"a\":1}\n{}\n", ""},
		{"end and line come later", []step{{write: `{"a":1}`}, {}, {write: "\n{}\n"}}, "{\"a\":1}\n{}\n", ""},
		{"end never comes", []step{{write: `{"a":1}`}, {}, {write: "{}\n"}}, "{\"a\":1}\n{}\n", ""},
		{"only one end is waited for", []step{{write: `{"a":1}`}, {}, {write: "\n"}, {write: "\n", err: record.ErrNotObject}}, "{\"a\":1}\n", "\n"},
		{"half, then the rest", []step{{write: `{"a":`}, {err: record.ErrNotObject}, {write: "1}\n"}}, "{\"a\":1}\n", ""},
		{"half, then nothing", []step{{write: `{"a":`}, {err: record.ErrNotObject}, {err: record.ErrNotObject}}, "", `{"a":`},
		{"nothing to do", []step{{}, {write: "{}\n"}, {}, {}, {write: "{}\n"}}, "{}\n{}\n", ""},
		{"twice", []step{{write: `{"a":1}`}, {}, {}, {write: "\n"}, {write: `{"b":1}`}, {}, {write: "\n"}}, "{\"a\":1}\n{\"b\":1}\n", ""},
		{"an empty write does not count", []step{{write: `{"a":1}`}, {}, {write: "\n"}}, "{\"a\":1}\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, k := newLog(t, "")
			w := l.NewWriter()
			for i, s := range c.steps {
				var err error
				if s.write == "" {
					err = w.Flush()
					must(t, w.Write(nil))
				} else {
					err = w.Write([]byte(s.write))
				}
				if !errors.Is(err, s.err) {
					t.Errorf("step %d (%q): %v, want %v", i, s.write, err, s.err)
				}
			}
			w.Close()
			if got := content(t, l); got != c.log || string(k.all()) != c.kept {
				t.Errorf("the log is %q, want %q; kept %q, want %q", got, c.log, k.all(), c.kept)
			}
		})
	}
}

// TestLinesOfManyWriters writes random lines by several writers in random pieces, turn and turn about: each writer's
// lines are all there, once, whole and in order.
func TestLinesOfManyWriters(t *testing.T) {
	whole := func(seed1, seed2 uint64) bool {
		rnd := rand.New(rand.NewPCG(seed1, seed2))
		l, k := newLog(t, "")
		todo := make([]string, 1+rnd.IntN(5))
		writers := make([]*Writer, len(todo))
		var want []string
		for i := range todo {
			writers[i] = l.NewWriter()
			for n := range rnd.IntN(20) {
				todo[i] += lineOf(i, n, randomText(rnd))
			}
			want = append(want, todo[i])
		}
		for left := true; left; {
			left = false
			i := rnd.IntN(len(todo))
			n := rnd.IntN(min(len(todo[i]), 300) + 1)
			must(t, writers[i].Write([]byte(todo[i][:n])))
			todo[i] = todo[i][n:]
			for _, s := range todo {
				left = left || s != ""
			}
		}
		for _, w := range writers {
			must(t, w.Flush())
		}
		return sameLines(t, content(t, l), want) && len(k.data) == 0
	}
	if err := quick.Check(whole, &quick.Config{MaxCount: 150}); err != nil {
		t.Error(err)
	}
}

func randomText(rnd *rand.Rand) string {
	from := []rune("ab{}\"\\\n\r\t é日😀")
	b := make([]rune, rnd.IntN(200))
	for i := range b {
		b[i] = from[rnd.IntN(len(from))]
	}
	return string(b)
}

// sameLines holds a log to what each writer wrote.
func sameLines(t *testing.T, log string, want []string) bool {
	t.Helper()
	got := make([]string, len(want))
	for line := range strings.Lines(log) {
		var r struct{ W, N int }
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.W >= len(want) {
			t.Errorf("no whole line: %q, %v", line, err)
			return false
		}
		got[r.W] += line
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("writer %d: %d bytes in the log, %d written", i, len(got[i]), len(want[i]))
			return false
		}
	}
	return true
}

// TestConcurrentWriters does the same at once, with bad lines, readers and flushes among them.
func TestConcurrentWriters(t *testing.T) {
	l, k := newLog(t, "")
	want := make([]string, 8)
	var wg sync.WaitGroup
	for i := range want {
		wg.Go(func() {
			w := l.NewWriter()
			defer w.Close()
			for n := range 150 {
				line := lineOf(i, n, strings.Repeat("x", n*7%500))
				want[i] += line
				at := n % len(line)
				if w.Write([]byte(line[:at])) != nil || w.Write([]byte(line[at:])) != nil {
					t.Error("a good line was refused")
				}
				if n%30 == 0 && w.Write([]byte("bad\n")) == nil {
					t.Error("a bad line was taken")
				}
				if n%50 == 0 {
					if err := l.Sync(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	readers(t, l, &wg)
	wg.Wait()
	sameLines(t, content(t, l), want)
	if got := bytes.Count(k.all(), []byte("bad\n")); got != 8*5 || len(k.data) != 8*5 {
		t.Errorf("%d bad lines were kept, want 40", got)
	}
}

// readers look at the log while it grows: its size is always the end of a line.
func readers(t *testing.T, l *Log, wg *sync.WaitGroup) {
	wg.Go(func() {
		for range 200 {
			var b [1]byte
			if size := l.Size(); size > 0 {
				if _, err := l.ReadAt(b[:], size-1); err != nil || b[0] != '\n' {
					t.Errorf("byte %d is %q, %v", size-1, b, err)
					return
				}
			}
		}
	})
}

// TestMaxLine: a line of MaxLine bytes is taken, one byte more is not, however it comes.
func TestMaxLine(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIP: writes 300 MB")
	}
	l, k := newLog(t, "")
	w := l.NewWriter()
	fits := []byte(`{"a":"` + strings.Repeat("x", MaxLine-9) + `"}` + "\n")
	if err := inPieces(w, fits, 7<<20); err != nil || l.Size() != MaxLine {
		t.Errorf("a line of MaxLine: %v, the log has %d bytes", err, l.Size())
	}
	long := []byte(`{"a":"` + strings.Repeat("x", MaxLine-8) + `"}` + "\n")
	for i, piece := range []int{MaxLine + 10, 1 << 20, 7 << 20, MaxLine} {
		w = l.NewWriter()
		if err := inPieces(w, long, piece); !errors.Is(err, ErrTooLong) {
			t.Errorf("pieces of %d: a longer line: %v", piece, err)
		}
		if len(k.data) != i+1 || !bytes.HasPrefix(long, k.data[i]) || w.Pending() != 0 {
			t.Errorf("pieces of %d: %d bytes in quarantine, %d pending", piece, len(k.data[i]), w.Pending())
		}
	}
	must(t, w.Write([]byte("{}\n"))) // the line is given up
	if l.Size() != MaxLine+3 {
		t.Errorf("the log has %d bytes", l.Size())
	}
}

// TestGoesOn: who writes a line of any length to its end, whatever write(2) says, is told of each piece that it is too long, and
// gets the next line in. Nothing is lost.
func TestGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIP: writes 150 MB")
	}
	l, k := newLog(t, "")
	w := l.NewWriter()
	long := []byte(`{"a":"` + strings.Repeat("x", 2*MaxLine+(5<<20)) + `"}` + "\n")
	refused := 0
	for rest := long; len(rest) > 0; {
		n := min(1<<20, len(rest))
		if err := w.Write(rest[:n]); errors.Is(err, ErrTooLong) {
			refused++
		} else if refused > 0 || err != nil {
			t.Fatalf("after %d: %v", len(long)-len(rest), err)
		}
		rest = rest[n:]
	}
	if got := k.all(); !bytes.Equal(got, long) || len(k.data) != 3 || refused != 71 {
		t.Errorf("%d bytes of %d in %d pieces, %d refused", len(got), len(long), len(k.data), refused)
	}
	must(t, w.Write([]byte("{\"b\":1}\n")))
	must(t, inPieces(w, long[:MaxLine-1], 1<<20))
	for range 2 {
		if err := w.Write([]byte("x")); !errors.Is(err, ErrTooLong) {
			t.Error(err)
		}
	}
	if err := w.Flush(); !errors.Is(err, ErrTooLong) {
		t.Errorf("its end: %v", err)
	}
	must(t, w.Write([]byte("{\"c\":2}\n{\"d\"")))
	must(t, w.Write([]byte(":3}\n")))
	if got := content(t, l); got != "{\"b\":1}\n{\"c\":2}\n{\"d\":3}\n" {
		t.Errorf("the log: %q", got)
	}
	if got := k.all(); !bytes.Equal(got, append(append(long, long[:MaxLine-1]...), "xx"...)) {
		t.Errorf("%d bytes in quarantine", len(got))
	}
}

// inPieces writes until the first error, as write(2) does.
func inPieces(w *Writer, data []byte, n int) error {
	for len(data) > 0 {
		n = min(n, len(data))
		if err := w.Write(data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}
