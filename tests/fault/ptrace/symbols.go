//go:build linux && amd64

package ptrace

import (
	"debug/elf"
	"debug/gosym"
	"fmt"
	"path"
	"strings"
)

// Symbols names the functions of a Go program. It is not safe for concurrent use.
type Symbols struct {
	table *gosym.Table
	names map[uint64]string
}

// ReadSymbols reads those of an executable.
func ReadSymbols(program string) (*Symbols, error) {
	f, err := elf.Open(program)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines, text := f.Section(".gopclntab"), f.Section(".text")
	if lines == nil || text == nil {
		return nil, fmt.Errorf("%s is no Go program", program)
	}
	data, err := lines.Data()
	if err != nil {
		return nil, err
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		return nil, err
	}
	return &Symbols{table, map[uint64]string{}}, nil
}

// Frames gives the functions of return addresses that have the prefix, as "session.(*Session).openLog:61".
func (s *Symbols) Frames(pcs []uint64, prefix string) (frames []string) {
	for _, pc := range pcs {
		name, ok := s.names[pc]
		if !ok {
			name = s.name(pc, prefix)
			s.names[pc] = name
		}
		if name != "" {
			frames = append(frames, name)
		}
	}
	return frames
}

func (s *Symbols) name(pc uint64, prefix string) string {
	_, line, fn := s.table.PCToLine(pc - 1) // the call, not what comes after it
	if fn == nil || !strings.HasPrefix(fn.Name, prefix) && !strings.HasPrefix(fn.Name, "main.") {
		return ""
	}
	return fmt.Sprintf("%s:%d", path.Base(fn.Name), line)
}
