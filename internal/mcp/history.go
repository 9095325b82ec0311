package mcp

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"slices"

	"ctxfs/internal/session"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	defaultRecords, maxRecords = 20, 1000
	// maxHistory is how many bytes of records one answer has, if it is more than one record: 256 KiB.
	maxHistory = 256 << 10
)

func (s *Server) historyTool(_ context.Context, _ *mcp.CallToolRequest, in historyArgs) (*mcp.CallToolResult, any, error) {
	most, err := tokens(in.MaxTokens)
	if err != nil {
		return nil, nil, err
	}
	if in.From < 0 {
		return nil, nil, fmt.Errorf("from is %d: the first record is 1; without from, the newest records", in.From)
	}
	count, err := limit(in.Limit, defaultRecords, maxRecords)
	if err != nil {
		return nil, nil, err
	}
	dir, err := s.find(in.Session)
	if err != nil {
		return nil, nil, err
	}
	f, err := s.root.Open(path.Join(dir, session.Messages))
	if err != nil {
		return nil, nil, clean(err)
	}
	defer f.Close()
	h := window{from: in.From, limit: count}
	if err := h.read(f); err != nil {
		return nil, nil, clean(err)
	}
	tok, err := s.tok()
	if err != nil {
		return nil, nil, err
	}
	h.fit(most, tok.CountBytes)
	return texts(string(h.text()), h.note()), nil, nil
}

// window is a part of a log: so many records from one on, or the last ones, and no more of them than an answer may have.
type window struct {
	from, limit int // from 0: the last ones
	lines       [][]byte
	bytes       int  // of lines
	full        bool // the answer ends before the next record
	first, all  int  // number of lines[0]; records in the log
	large       int  // tokens of the one record that alone is more than an answer may have
}

func (w *window) read(r io.Reader) error {
	br := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := br.ReadBytes('\n')
		if err == io.EOF {
			w.first = w.all - len(w.lines) + 1
			if w.from > 0 {
				w.first = w.from
			}
			return nil
		}
		if err != nil {
			return err
		}
		w.all++
		if w.from == 0 || w.all >= w.from && w.all < w.from+w.limit {
			w.keep(line)
		}
	}
}

// keep adds a line: the first ones stay, or where the last are asked for the newest. There is always one, however long.
func (w *window) keep(line []byte) {
	if w.from > 0 && len(w.lines) > 0 && w.bytes+len(line) > maxHistory {
		w.full = true
	}
	if w.full {
		return
	}
	w.lines = append(w.lines, line)
	w.bytes += len(line)
	for len(w.lines) > w.limit || w.bytes > maxHistory && len(w.lines) > 1 {
		w.bytes -= len(w.lines[0])
		w.lines[0] = nil
		w.lines = w.lines[1:]
	}
}

// fit drops whole lines until the others have at most max tokens: the last ones where from is given, else the first.
func (w *window) fit(max int, count func([]byte) int) {
	lines := w.lines
	if w.from == 0 {
		slices.Reverse(lines)
	}
	sum, n := 0, 0
	for ; n < len(lines); n++ {
		if sum += count(lines[n]); sum > max {
			break
		}
	}
	if n == 0 && len(lines) > 0 {
		w.large = sum
	}
	lines = lines[:n]
	if w.from == 0 {
		slices.Reverse(lines)
		w.first = w.all - n + 1
	}
	w.lines = lines
}

func (w *window) text() []byte { return bytes.Join(w.lines, nil) }

// note says which records the answer has, and how to get the others.
func (w *window) note() string {
	if w.large > 0 {
		n := w.first
		if w.from == 0 {
			n = w.all
		}
		return fmt.Sprintf("record %d of %d alone has %d tokens: read it in parts by the tool open, with ref messages:%d, or ask with a larger max_tokens", n, w.all, w.large, n)
	}
	if len(w.lines) == 0 {
		return fmt.Sprintf("no records of %d", w.all)
	}
	last := w.first + len(w.lines) - 1
	text := fmt.Sprintf("records %d to %d of %d", w.first, last, w.all)
	switch {
	case w.from > 0 && last < w.all:
		text += fmt.Sprintf("; go on with from %d", last+1)
	case w.from == 0 && w.first > 1:
		text += "; earlier ones with from"
	}
	return text
}
