//go:build linux && amd64

package fault

import (
	"fmt"
	"strings"
	"sync"
)

// state is what a writer knows of what it wrote.
type state int

const (
	failed state = iota // write(2) gave an error
	written
	synced // fsync(2) returned after write(2) had
)

// entry is one line that a writer wrote.
type entry struct {
	text   string
	state  state
	synced int // when fsync(2) returned, by the ledger's clock
}

// putting is one replacement of a file.
type putting struct {
	content     string
	begun, done int // by the ledger's clock; done is 0 when it failed
}

// ledger is what all writers know.
type ledger struct {
	mu    sync.Mutex
	base  map[string]string             // what the logs of sessions held before
	gone  map[string]bool               // sessions that may be deleted
	logs  map[string]map[string][]entry // by session and writer
	files map[string][]string           // by path in the mount: the last content that was taken, then those that were refused
	puts  map[string][]putting          // by path in the mount: all of that
	clock func() int                    // operations on the store until now; nil: nobody counts
	errs  []string                      // all that was refused
}

func newLedger(base map[string]string) *ledger {
	l := &ledger{base: base, gone: map[string]bool{}, logs: map[string]map[string][]entry{}, files: map[string][]string{}, puts: map[string][]putting{}}
	l.wrote("ended", "crash", nil, endless())
	return l
}

// now is the ledger's clock. mu may be held.
func (l *ledger) now() int {
	if l.clock == nil {
		return 1
	}
	return l.clock()
}

// did notes the outcome of an operation.
func (l *ledger) did(what string, err error) error {
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.errs = append(l.errs, fmt.Sprintf("%s: %v", what, err))
	}
	return err
}

// wrote notes lines of a writer.
func (l *ledger) wrote(session, writer string, err error, texts ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := written
	if err != nil {
		st = failed
	}
	if l.logs[session] == nil {
		l.logs[session] = map[string][]entry{}
	}
	for _, t := range texts {
		l.logs[session][writer] = append(l.logs[session][writer], entry{text: t, state: st})
	}
}

// sync notes that fsync(2) returned: what the writer had written is durable.
func (l *ledger) sync(session, writer string) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.logs[session][writer]
	for i := range list {
		if list[i].state == written {
			list[i].state, list[i].synced = synced, now
		}
	}
}

// put notes the content of a file, whose replacement began then.
func (l *ledger) put(file, content string, err error, begun int) {
	p := putting{content: content, begun: begun, done: l.now()}
	if err != nil {
		p.done = 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.puts[file] = append(l.puts[file], p)
	if err == nil {
		l.files[file] = []string{content}
	} else if l.files[file] != nil { // else what it held before is not known
		l.files[file] = append(l.files[file], content)
	}
}

// promise is how much a check asks for.
type promise struct {
	least   state // lines of this state and above must be there
	refused bool  // lines whose write failed may be there
	crash   int   // not 0: there must be what was synced until then, by the ledger's clock, and nothing else need be
}

func (p promise) needs(e entry) bool {
	if p.crash > 0 {
		return e.state == synced && e.synced <= p.crash
	}
	return e.state >= p.least
}

// check holds a log to what its writers know.
func (l *ledger) check(session, log string, p promise) (wrong []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	tell := func(format string, args ...any) {
		wrong = append(wrong, session+": "+fmt.Sprintf(format, args...))
	}
	rest, ok := strings.CutPrefix(log, l.base[session])
	if !ok {
		tell("what it held before is not whole: %d of %d bytes, ends with %.60q", len(log), len(l.base[session]), log[max(0, len(log)-60):])
		return wrong
	}
	if rest != "" && !strings.HasSuffix(rest, "\n") {
		tell("half a line: %.80q", rest[strings.LastIndexByte(rest, '\n')+1:])
	}
	where := map[string][]int{}
	for i, line := range strings.SplitAfter(rest, "\n") {
		where[line] = append(where[line], i)
	}
	delete(where, "")
	for writer, list := range l.logs[session] {
		last := -1
		for n, e := range list {
			at := where[e.text]
			delete(where, e.text)
			switch {
			case len(at) > 1:
				tell("%s %d stands there %d times", writer, n, len(at))
			case len(at) == 0 && p.needs(e):
				tell("%s %d is not there, and its write had returned (state %d)", writer, n, e.state)
			case len(at) == 1 && e.state == failed && !p.refused:
				tell("%s %d is there, and its write had failed", writer, n)
			case len(at) == 1 && at[0] < last:
				tell("%s %d stands before an earlier line", writer, n)
			}
			if len(at) > 0 {
				last = at[0]
			}
		}
	}
	for line := range where {
		tell("a line that nobody wrote: %.80q", line)
	}
	return wrong
}
