package record

import (
	"bytes"
	"fmt"
)

// History is an immutable view of the first Len() records of a log: what a pack is built from. Its records are
// numbered from 1. Implementations read lines on demand, so a view of a long log is cheap to hold.
type History interface {
	Len() int
	// Raw gives the exact bytes of record n, its '\n' included.
	Raw(n int) ([]byte, error)
	// Record gives record n, parsed.
	Record(n int) (Record, error)
}

// Memory is a History over a log held in memory.
type Memory struct {
	log  []byte
	ends []int
}

// NewMemory views the whole lines of log. A last line without '\n' is not a record.
func NewMemory(log []byte) *Memory {
	m := &Memory{log: log}
	for at := 0; ; {
		i := bytes.IndexByte(log[at:], '\n')
		if i < 0 {
			return m
		}
		at += i + 1
		m.ends = append(m.ends, at)
	}
}

// Len is the number of records.
func (m *Memory) Len() int { return len(m.ends) }

// Raw gives the bytes of record n.
func (m *Memory) Raw(n int) ([]byte, error) {
	if n < 1 || n > len(m.ends) {
		return nil, fmt.Errorf("messages:%d: no such record, the log has %d", n, len(m.ends))
	}
	return m.log[m.start(n):m.ends[n-1]], nil
}

// Record parses record n.
func (m *Memory) Record(n int) (Record, error) {
	line, err := m.Raw(n)
	if err != nil {
		return Record{N: n}, err
	}
	return Parse(line, n, int64(m.start(n)))
}

func (m *Memory) start(n int) int {
	if n == 1 {
		return 0
	}
	return m.ends[n-2]
}
