package posix

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// controlDesc is an open control file of the model, which descriptors that dup(2) made share. What it shows is as it was opened, and
// what was written to it; what is complete, or at fsync(2) or close(2), is judged, and becomes the file's content.
type controlDesc struct {
	name  string
	at    int
	flags int
	data  string
	lines bool // what is written is added to the file: O_APPEND without O_TRUNC, and no ftruncate(2) since
	dirty bool
	bad   bool // the last judgement was a refusal, which was told
}

func (d *controlDesc) reads() bool  { return d.flags&unix.O_ACCMODE != unix.O_WRONLY }
func (d *controlDesc) writes() bool { return d.flags&unix.O_ACCMODE != unix.O_RDONLY }

type controlSlot struct {
	fd int
	*controlDesc
}

// controlWorld is a session's control files.
type controlWorld struct {
	m        *mount
	session  string
	defaults map[string]string // what stands in a file that was not written
	written  map[string]string
	plain    map[string]string // files beside them, as editors write
	open     map[string]controlSlot
	calls    map[string]func(o op) (got, want string)
}

var errRefused = errors.New("EINVAL")

func beginControl(m *mount, n int) world {
	root, _ := m.room()
	w := &controlWorld{m: m, session: fmt.Sprintf("%s/../session/control%d", root, n), defaults: map[string]string{}, written: map[string]string{}, plain: map[string]string{}, open: map[string]controlSlot{}}
	must(m.t, os.MkdirAll(w.session, 0o755))
	for name := range controlTexts() {
		data, err := os.ReadFile(w.path(name))
		must(m.t, err)
		w.defaults[name] = string(data)
	}
	w.calls = map[string]func(o op) (got, want string){
		"open": w.opening, "close": w.closing, "dup": w.dup, "write": w.write, "pwrite": w.pwrite, "read": w.read, "pread": w.pread, "fstat": w.fstat, "stat": w.stat,
		"ftruncate": w.ftruncate, "truncate": w.truncate, "fsync": w.fsync, "unlink": w.unlink, "plain": w.makePlain, "replace": w.replace, "aside": w.aside, "echo": w.echo,
	}
	return w
}

// controlTexts are pieces of what is written to the files.
func controlTexts() map[string][]string {
	return map[string][]string{
		"context/budget":      {"1", "200", "7000\n", "\n", "reserve=5\n", "x", "4000\nreserve=10\n"},
		"context/summary.md":  {"a", "some words\n", "more of them ", "\n"},
		"context/facts.jsonl": {"{\"a\":1}", "{\"a\":1}\n", "\n", "{\"b\":", "2}", "2}\n", "x", "[]\n"},
		"context/gc.policy":   {"pack_ttl=1d\n", "pack_ttl=", "1h", "2d\n", "# a note\n", "x=1\n", "keep_messages=1", "\n"},
		"state":               {"idle", "active\n", "done", "\n", "no", "error\n"},
	}
}

func nextControl(r *rand.Rand) op {
	names := []string{"context/budget", "context/summary.md", "context/facts.jsonl", "context/gc.policy", "state"}
	name := names[r.IntN(len(names))]
	texts := controlTexts()[name]
	text := strconv.Quote(texts[r.IntN(len(texts))])
	s := digits(r.IntN(5))
	switch r.IntN(20) {
	case 0, 1, 2, 3:
		return op{"open", s, name, pick(r, "O_RDONLY", "O_WRONLY", "O_RDWR", "O_WRONLY,O_TRUNC", "O_RDWR,O_TRUNC", "O_WRONLY,O_APPEND", "O_RDWR,O_APPEND", "O_WRONLY,O_APPEND,O_TRUNC", "O_WRONLY,O_CREAT")}
	case 4, 5:
		return op{"close", s}
	case 6:
		return op{"dup", s, digits(r.IntN(5))}
	case 7, 8, 9:
		return op{"write", s, digits(r.IntN(len(texts)))}
	case 10:
		return op{"pwrite", s, digits(r.IntN(20)), digits(r.IntN(len(texts)))}
	case 11:
		return op{pick(r, "read", "pread"), s, digits(r.IntN(30))}
	case 12:
		return op{"fstat", s}
	case 13:
		return op{"stat", name}
	case 14:
		return op{pick(r, "ftruncate", "fsync"), s, digits(r.IntN(20))}
	case 15:
		return op{"truncate", name, digits(r.IntN(20))}
	case 16:
		return op{"unlink", name}
	case 17:
		return op{"plain", digits(r.IntN(3)), text}
	case 18:
		return op{pick(r, "replace", "aside"), digits(r.IntN(3)), name}
	}
	return op{"echo", name, text}
}

func (w *controlWorld) path(name string) string { return w.session + "/" + name }
func plainPath(n string) string                 { return "context/.editor" + n }

// now is what stands in a file.
func (w *controlWorld) now(name string) string {
	if text, ok := w.written[name]; ok {
		return text
	}
	return w.defaults[name]
}

// judge gives what is kept of a content, or EINVAL.
func judge(name, text string) (string, error) {
	switch name {
	case "state":
		switch s := strings.TrimSpace(text); s {
		case "active", "idle", "done", "error":
			return s + "\n", nil
		}
		return "", errRefused
	case "context/budget":
		return text, judgeBudget(text)
	case "context/facts.jsonl":
		return judgeFacts(text)
	case "context/gc.policy":
		return text, judgePolicy(text)
	}
	return text, nil
}

func judgeBudget(text string) error {
	tokens, reserve := 0, 0
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		line = strings.TrimSpace(line)
		key, value, pair := strings.Cut(line, "=")
		to := &reserve
		switch {
		case line == "":
			continue
		case i == 0 && !pair:
			to, value = &tokens, line
		case key != "reserve":
			return errRefused
		}
		*to = 0
		if value == "" {
			return errRefused
		}
		for _, c := range value {
			if *to = *to*10 + int(c-'0'); c < '0' || c > '9' || *to > 100_000_000 {
				return errRefused
			}
		}
	}
	if tokens == 0 {
		tokens = 32000
	}
	if reserve >= tokens {
		return errRefused
	}
	return nil
}

func judgeFacts(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		var m map[string]json.RawMessage
		if json.Unmarshal([]byte(line), &m) != nil || m == nil {
			return "", errRefused
		}
	}
	return strings.TrimSuffix(text, "\n") + "\n", nil
}

func judgePolicy(text string) error {
	for line := range strings.SplitSeq(text, "\n") {
		key, value, _ := strings.Cut(line, "=")
		number, days := strings.CutSuffix(value, "d")
		if !days {
			number = strings.TrimSuffix(value, "h")
		}
		_, bad := strconv.Atoi(number)
		switch {
		case line == "" || line[0] == '#':
		case key == "pack_ttl" && bad == nil && number != value: // it has a unit, and one
		case key == "keep_messages" && (value == "0" || value == "1"):
		default:
			return errRefused
		}
	}
	return nil
}

// complete tells whether a content is judged before the file is closed.
func complete(name, text string) bool {
	return name != "context/summary.md" && strings.HasSuffix(text, "\n")
}

func (w *controlWorld) replaceBy(name, text string) string {
	kept, err := judge(name, text)
	if err != nil {
		return err.Error()
	}
	w.written[name] = kept
	return "ok"
}

// commit judges what an open file holds.
func (w *controlWorld) commit(d *controlDesc, closing bool) string {
	if !d.dirty || d.bad && closing {
		d.dirty = false
		return "ok"
	}
	text := d.data
	if d.lines {
		text = w.now(d.name) + d.data
		d.data = ""
	}
	d.dirty = false
	result := w.replaceBy(d.name, text)
	d.bad = result != "ok"
	return result
}

// shows is what an open file gives to its readers.
func (w *controlWorld) shows(d *controlDesc) string {
	if d.lines {
		return w.now(d.name) + d.data
	}
	return d.data
}

func (w *controlWorld) do(o op) error {
	if o[0] == "kill" {
		w.m.killMeanwhile()
		return nil
	}
	got, want := w.calls[o[0]](o)
	return differ(got, want)
}

func (w *controlWorld) check() error {
	for name := range controlTexts() {
		data, err := os.ReadFile(w.path(name))
		if err != nil || string(data) != w.now(name) {
			return fmt.Errorf("%s: %v, %.200q, and should be %.200q", name, err, data, w.now(name))
		}
	}
	for n, text := range w.plain {
		data, err := os.ReadFile(w.path(plainPath(n)))
		if err != nil || string(data) != text {
			return fmt.Errorf("%s: %v, %.200q, and should be %.200q", plainPath(n), err, data, text)
		}
	}
	for s, d := range w.open {
		if !d.reads() {
			continue
		}
		want := w.shows(d.controlDesc)
		buf := make([]byte, len(want)+1)
		n, err := unix.Pread(d.fd, buf, 0)
		if err != nil || string(buf[:n]) != want {
			return fmt.Errorf("descriptor %s of %s: %v, %.200q, and should be %.200q", s, d.name, err, buf[:n], want)
		}
	}
	return nil
}

func (w *controlWorld) close() {
	w.m.kills.Wait()
	for _, d := range w.open {
		unix.Close(d.fd)
	}
}
