package mcp

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"path"

	"ctxfs/internal/session"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	defaultRecords, maxRecords = 20, 1000
	// maxHistory is how many bytes of records one answer has, if it is more than one record: 256 KiB.
	maxHistory = 256 << 10
)

func (s *Server) historyTool(_ context.Context, _ *mcp.CallToolRequest, in historyArgs) (*mcp.CallToolResult, any, error) {
	dir, err := s.find(in.Session)
	if err != nil {
		return nil, nil, err
	}
	if in.From < 0 {
		return nil, nil, fmt.Errorf("from is %d: the first record is 1; without from, the last ones are given", in.From)
	}
	if in.Limit <= 0 {
		in.Limit = defaultRecords
	}
	f, err := s.root.Open(path.Join(dir, session.Messages))
	if err != nil {
		return nil, nil, clean(err)
	}
	defer f.Close()
	h := window{from: in.From, limit: min(in.Limit, maxRecords)}
	if err := h.read(f); err != nil {
		return nil, nil, clean(err)
	}
	data := h.text()
	if len(data) > maxFile {
		return nil, nil, fmt.Errorf("record %d alone has %d bytes: the tool open gives parts of it, messages:%d.1", h.first, len(data), h.first)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(data)}, &mcp.TextContent{Text: h.note()}}}, nil, nil
}

// window is a part of a log: so many records from one on, or the last ones, and no more of them than an answer may have.
type window struct {
	from, limit int // from 0: the last ones
	lines       [][]byte
	bytes       int  // of lines
	full        bool // the answer ends before the next record
	first, all  int  // number of lines[0]; records in the log
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

func (w *window) text() []byte { return bytes.Join(w.lines, nil) }

func (w *window) note() string {
	if len(w.lines) == 0 {
		return fmt.Sprintf("no records of %d", w.all)
	}
	return fmt.Sprintf("records %d to %d of %d", w.first, w.first+len(w.lines)-1, w.all)
}
