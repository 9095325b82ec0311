package corpus

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"ctxfs/internal/importer"
)

// sink gathers an import in memory. Pictures are not kept: a pack never reads them.
type sink struct {
	log    bytes.Buffer
	events [][]byte
}

func (s *sink) Message(line []byte) error {
	s.log.Write(line)
	s.log.WriteByte('\n')
	return nil
}

func (s *sink) Event(line []byte) error {
	s.events = append(s.events, bytes.Clone(line))
	return nil
}

func (s *sink) Blob(data []byte) (string, error) {
	return fmt.Sprintf("blob of %d bytes", len(data)), nil
}

// Coding imports the Claude Code and Codex logs.
func Coding(dir string) ([]Session, error) {
	var out []Session
	for _, x := range []struct {
		pattern string
		format  importer.Format
	}{{"claude-code/*/*.jsonl", importer.ClaudeCode}, {"codex/*/*.jsonl", importer.Codex}} {
		paths, err := files(dir, x.pattern)
		if err != nil {
			return nil, err
		}
		for _, p := range paths {
			s, err := coding(p, x.format)
			if err != nil {
				return nil, err
			}
			out = append(out, s)
		}
	}
	return out, nil
}

func coding(path string, format importer.Format) (Session, error) {
	f, err := os.Open(path)
	if err != nil {
		return Session{}, err
	}
	defer func() { _ = f.Close() }() // read only
	var s sink
	if _, err := importer.Import(f, format, &s, nil); err != nil {
		return Session{}, fmt.Errorf("%s: %w", path, err)
	}
	return Session{Name: string(format) + " " + filepath.Base(path), Log: s.log.Bytes(), Events: s.events}, nil
}
