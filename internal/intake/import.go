package intake

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"ctxfs/internal/importer"
)

// File is a log that is imported whole.
type File struct {
	Log    io.ReadSeeker
	Format importer.Format
	Store  Store
	Agent  string
	// Name returns the name of the nth session of a conversation in the log, counted from 1. The label is "" when the log
	// holds one conversation.
	Name     func(label string, n int) string
	Progress func(bytes int64) // may be nil
}

// Result is what became of one conversation.
type Result struct {
	Session string // its name
	Made    bool   // it was not there
	Added   Counts
	Report  importer.Report
}

// Import brings the sessions of a log up to what it holds: each conversation goes on in the session that has its first
// records, or gets a new one. The results are in the order of the log, also those of a failed import: what it appended is
// in the sessions, and the next import goes on there.
func (f File) Import() ([]Result, error) {
	all := map[string]*conversation{}
	for range MaxNames + 1 {
		if _, err := f.Log.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		p := &pass{file: f, all: all, seen: map[string]bool{}}
		_, err := importer.ImportAll(f.Log, f.Format, p.open, f.Progress)
		err = errors.Join(err, p.close())
		if err != nil || !p.again {
			return p.results(), err
		}
	}
	return nil, fmt.Errorf("%w: so are all up to %s", ErrOther, f.Name("", MaxNames))
}

// conversation is one of a log.
type conversation struct {
	Result
	n    int // which name is tried
	done bool
}

// pass is one reading of a log. A conversation whose session turns out to be another's is read again, into the next.
type pass struct {
	file  File
	all   map[string]*conversation // by label
	order []*conversation
	seen  map[string]bool // labels
	now   *writing        // nil: none is open
	again bool
}

// writing is the session of a conversation while it is written.
type writing struct {
	*Sink
	p *pass
	c *conversation
}

// open makes the Sink of the next conversation.
func (p *pass) open(label string) (importer.Sink, error) {
	if err := p.close(); err != nil {
		return nil, err
	}
	own := label
	for n := 2; p.seen[own]; n++ {
		own = label + "-" + strconv.Itoa(n)
	}
	p.seen[own] = true
	c := p.all[own]
	if c == nil {
		c = &conversation{n: 1}
		if label != "" && len(p.order) == 0 {
			c.n = alone
		}
		p.all[own] = c
	}
	p.order = append(p.order, c)
	if c.done {
		return nothing{}, nil
	}
	k, err := p.session(own, c)
	if err != nil {
		return nil, err
	}
	c.Session = k.Name()
	c.Made = k.s == nil
	p.now = &writing{k, p, c}
	return p.now, nil
}

// alone is the first name that is tried for the first of several conversations: that of a log that held no others yet.
const alone = 0

// session opens the session whose turn it is to be tried for a conversation.
func (p *pass) session(label string, c *conversation) (*Sink, error) {
	if c.n > alone {
		return Open(p.file.Store, p.file.Agent, p.file.Name(label, c.n), p.file.Format)
	}
	k, err := Open(p.file.Store, p.file.Agent, p.file.Name("", 1), p.file.Format)
	if err != nil || len(k.ids) > 0 {
		return k, err
	}
	c.n++
	if err := k.Close(); err != nil {
		return nil, err
	}
	return p.session(label, c)
}

// close closes the session that was written last.
func (p *pass) close() error {
	if p.now == nil {
		return nil
	}
	w := p.now
	p.now = nil
	w.c.Made = w.c.Made && w.s != nil
	w.c.Added = w.Added()
	return w.Close()
}

func (p *pass) results() []Result {
	var list []Result
	for _, c := range p.order {
		list = append(list, c.Result)
	}
	return list
}

// End appends what the session lacks. A session of another log is left alone, and the next name is tried.
func (w *writing) End(rep importer.Report) error {
	w.c.Report = rep
	err := w.Commit()
	if errors.Is(err, ErrOther) {
		w.c.n++
		w.p.again = true
		return nil
	}
	if err != nil {
		return err
	}
	w.c.done = true
	return errors.Join(w.Describe(rep), w.Sync())
}

// nothing takes a conversation that was written already.
type nothing struct{}

func (nothing) Message([]byte) error        { return nil }
func (nothing) Event([]byte) error          { return nil }
func (nothing) Blob([]byte) (string, error) { return "blake3-0", nil }
