package intake

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"ctxfs/internal/cas"
	"ctxfs/internal/importer"
)

// shelf keeps sessions in memory. Its appends can be killed.
type shelf struct {
	sessions map[string]*book
	kill     int  // which append from now on is the last, counted from 1; 0: none
	torn     bool // of the last one only the first line is written
}

type book struct {
	on        *shelf
	logs      map[string]*bytes.Buffer
	blobs     map[string]bool
	described []importer.Report
}

var errKilled = errors.New("killed")

func newShelf() *shelf { return &shelf{sessions: map[string]*book{}} }

func (s *shelf) Open(_, name string) (Session, error) {
	if b := s.sessions[name]; b != nil {
		return b, nil
	}
	return nil, fs.ErrNotExist
}

func (s *shelf) Make(_, name string) (Session, error) {
	if s.sessions[name] != nil {
		return nil, fs.ErrExist
	}
	s.sessions[name] = &book{on: s, logs: map[string]*bytes.Buffer{Messages: {}, Events: {}}, blobs: map[string]bool{}}
	return s.sessions[name], nil
}

func (b *book) Read(log string, fn func([]byte) error) error {
	for line := range bytes.Lines(b.logs[log].Bytes()) {
		if err := fn(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			return err
		}
	}
	return nil
}

func (b *book) Append(log string, lines []byte) error {
	if b.on.kill > 0 {
		if b.on.kill--; b.on.kill == 0 {
			if b.on.torn {
				b.logs[log].Write(lines[:bytes.IndexByte(lines, '\n')+1])
			}
			return errKilled
		}
	}
	b.logs[log].Write(lines)
	return nil
}

func (b *book) Blob(data []byte) error { b.blobs[cas.Sum(data).String()] = true; return nil }
func (b *book) Describe(rep importer.Report) error {
	b.described = append(b.described, rep)
	return nil
}
func (b *book) Mark() (Mark, error) { return Mark{}, nil }
func (b *book) Sync() error         { return nil }
func (b *book) Close() error        { return nil }

// take imports a log as NAME.
func (s *shelf) take(name, log string, format importer.Format) ([]Result, error) {
	return File{Log: strings.NewReader(log), Format: format, Store: s, Agent: "a", Name: func(label string, n int) string {
		own := name
		if label != "" {
			own += "-" + label
		}
		if n > 1 {
			own += "-" + string(rune('0'+n))
		}
		return own
	}}.Import()
}

func (s *shelf) must(t *testing.T, name, log string, format importer.Format) []Result {
	t.Helper()
	list, err := s.take(name, log, format)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// text returns all that the sessions hold.
func (s *shelf) text() string {
	var b strings.Builder
	for _, name := range sortedKeys(s.sessions) {
		x := s.sessions[name]
		b.WriteString("== " + name + "\n" + x.logs[Messages].String() + "--\n" + x.logs[Events].String() + strings.Join(sortedKeys(x.blobs), " ") + "\n")
	}
	return b.String()
}
