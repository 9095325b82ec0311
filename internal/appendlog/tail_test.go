package appendlog

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

// TestHoles: from the line of a lost write on, all is set aside, and what is whole of it goes back into the log; who only
// looks sees the log end before it.
func TestHoles(t *testing.T) {
	const line = "{\"n\":1}\n"
	zeros := func(n int) string { return strings.Repeat("\x00", n) }
	for name, c := range map[string]struct{ good, bad, back string }{
		"a line":                       {line, zeros(40) + "\n" + line, line},
		"the middle of a line":         {line, "{\"n\":\"" + zeros(512) + "\"}\n", ""},
		"the first line":               {"", zeros(8) + line, ""},
		"before a line without an end": {line + line, zeros(3) + line + "{\"n\":2}", ""},
		"before a torn line":           {line, zeros(3) + line + "{\"n\":", ""},
		"a long log":                   {strings.Repeat(line, 100_000), "{" + zeros(512) + "}\n" + strings.Repeat(line, 50_000), strings.Repeat(line, 50_000)},
		"two":                          {line, zeros(9) + line + line + zeros(9) + line + line, line + line},
		"none":                         {strings.Repeat(line, 200_000), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := openFile(t, c.good+c.bad)
			r, err := NewReader(nil, f)
			must(t, err)
			if r.Size() != int64(len(c.good)) {
				t.Errorf("a reader sees %d bytes, want %d", r.Size(), len(c.good))
			}
			k := &kept{}
			l, err := New(f, k.take)
			must(t, err)
			if got := content(t, l); got != c.good+c.back {
				t.Errorf("the log has %d bytes, want %d", len(got), len(c.good+c.back))
			}
			if !bytes.Equal(k.all(), []byte(c.bad)) {
				t.Errorf("kept %d bytes, want %d", len(k.all()), len(c.bad))
			}
			must(t, l.Commit([]byte(line)))
			if got := content(t, l); got != c.good+c.back+line {
				t.Error("it does not take lines")
			}
		})
	}
}

// TestHolesOfAnEarlierDay: far more than what is looked at every time is looked at in a log of before the machine was started.
func TestHolesOfAnEarlierDay(t *testing.T) {
	good, bad := "{\"n\":1}\n", strings.Repeat("\x00", 600)+strings.Repeat("{\"n\":2}\n", holesNow/4)
	for _, old := range []bool{true, false} {
		f := openFile(t, good+bad)
		when := time.Now()
		if old {
			when = started().Add(-time.Hour)
		}
		must(t, os.Chtimes(f.Name(), when, when))
		r, err := NewReader(nil, f)
		must(t, err)
		if got := r.Size() == int64(len(good)); got != old {
			t.Errorf("from before: %v, the hole is seen: %v", old, got)
		}
	}
}
