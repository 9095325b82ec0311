package verify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ctxfs/internal/session"
)

// A line that is being written is no torn one, however slowly it comes; one of which nothing more comes is, and so is each of a log
// that rests, without a pause.
func TestLineBeingWritten(t *testing.T) {
	half := `{"role":"user","content":"` + strings.Repeat("a", 1<<20)
	type at = map[int]func(*os.File) error
	write := func(text string) func(*os.File) error {
		return func(f *os.File) error { _, err := f.WriteString(text); return err }
	}
	for name, c := range map[string]struct {
		then    at // after so many pauses
		age     time.Duration
		records int
		torn    string
		pauses  int
	}{
		"goes on":                 {at{1: write("b"), 15: write("c"), 30: write("\"}\n")}, 0, 3, "", 30},
		"another comes":           {at{1: write("\"}\n{\"role\":"), 4: write("\"user\",\"content\":\"x\"}\n")}, 0, 4, "", 4},
		"goes on and is torn":     {at{3: write("b")}, 0, 2, "the last 1048603 bytes are a torn line", 3 + quiet - 1},
		"torn":                    {nil, 0, 2, "the last 1048602 bytes are a torn line", quiet},
		"torn long ago":           {nil, time.Hour, 2, "the last 1048602 bytes are a torn line", 0},
		"there is no room for it": {at{2: func(f *os.File) error { return f.Truncate(int64(len(two))) }}, 0, 2, "", 2},
	} {
		dir, _ := fixture(t)
		file := filepath.Join(dir, rel, session.Messages)
		f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
		must(t, err)
		must(t, write(half)(f))
		then := time.Now().Add(-c.age)
		must(t, os.Chtimes(file, then, then))
		store, err := session.Open(dir, session.Options{ReadOnly: true})
		must(t, err)
		v, n := newVerifier(store), 0
		v.pause = func(time.Duration) {
			if n++; c.then[n] != nil {
				must(t, c.then[n](f))
			}
		}
		r, err := v.all(nil)
		must(t, err)
		said := ""
		for _, p := range r.Problems {
			said += p.Text
		}
		if r.Records != c.records || !strings.HasPrefix(said, c.torn) || (said == "") != (c.torn == "") || n != c.pauses {
			t.Errorf("%s: %d records, %d pauses, %q", name, r.Records, n, said)
		}
		must(t, f.Close())
		must(t, store.Close())
	}
}

// Of a store with many torn lines not each has verify wait.
func TestPausesEnd(t *testing.T) {
	dir, _ := fixture(t)
	store, err := session.Open(dir, session.Options{ReadOnly: true})
	must(t, err)
	defer store.Close()
	for _, name := range []string{session.Messages, session.Events} {
		f, err := os.OpenFile(filepath.Join(dir, rel, name), os.O_APPEND|os.O_WRONLY, 0)
		must(t, err)
		_, err = f.WriteString("{")
		must(t, err)
		must(t, f.Close())
	}
	v, n := newVerifier(store), 0
	v.pauses, v.pause = quiet+3, func(time.Duration) { n++ }
	r, err := v.all(nil)
	if err != nil || len(r.Problems) != 2 || n != quiet+3 {
		t.Errorf("%v, %d pauses, %+v", err, n, r)
	}
}
