package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"ctxfs/internal/quality/corpus"
	"ctxfs/internal/record"
)

// set is a folder of files that are stored together.
type set struct {
	name  string
	dir   string
	files []string // relative to dir, sorted
	raw   int64
	blobs bool // they go into the store as blobs, not as logs
}

// load finds the data. The tool outputs of the sessions are written out, one file each, below work.
func load(data, work string) ([]*set, error) {
	sessions := &set{name: "claude-code and codex, final sessions", dir: data}
	series := &set{name: "growth series", dir: filepath.Join(data, "growth")}
	last := &set{name: "growth series, final versions alone", dir: series.dir}
	outputs := &set{name: "tool outputs of these sessions alone", dir: filepath.Join(work, "outputs"), blobs: true}
	if err := writeOutputs(data, outputs.dir); err != nil {
		return nil, err
	}
	for _, x := range []struct {
		set     *set
		folders []string
	}{{sessions, []string{"claude-code", "codex"}}, {series, []string{"."}}, {outputs, []string{"."}}} {
		for _, folder := range x.folders {
			if err := x.set.walk(folder); err != nil {
				return nil, err
			}
		}
	}
	if err := last.finals(series); err != nil {
		return nil, err
	}
	return []*set{sessions, series, last, outputs}, nil
}

func (s *set) walk(folder string) error {
	return filepath.WalkDir(filepath.Join(s.dir, folder), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(s.dir, p)
		if err != nil {
			return err
		}
		return s.add(rel)
	})
}

func (s *set) add(rel string) error {
	st, err := os.Stat(filepath.Join(s.dir, rel))
	if err == nil {
		s.files, s.raw = append(s.files, rel), s.raw+st.Size()
	}
	return err
}

// finals takes the last file of each folder of series.
func (s *set) finals(series *set) error {
	for i, rel := range series.files {
		if i+1 < len(series.files) && filepath.Dir(series.files[i+1]) == filepath.Dir(rel) {
			continue
		}
		if err := s.add(rel); err != nil {
			return err
		}
	}
	return nil
}

func writeOutputs(data, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	logs, err := corpus.Coding(data)
	if err != nil {
		return err
	}
	n := 0
	for _, l := range logs {
		for line := range bytes.Lines(l.Log) {
			r, err := record.Parse(line, 1, 0)
			if err != nil {
				return fmt.Errorf("%s: %w", l.Name, err)
			}
			for _, b := range r.Blocks {
				if b.Kind != record.ToolResult || b.Text == "" {
					continue
				}
				n++
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%06d", n)), []byte(b.Text), 0o600); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// size adds up the files below dir.
func size(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		st, err := d.Info()
		if err == nil {
			n += st.Size()
		}
		return err
	})
	return n, err
}

// same tells whether the files of s stand below dir too.
func (s *set) same(dir string) error {
	for _, rel := range s.files {
		want, err := os.ReadFile(filepath.Join(s.dir, rel))
		if err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(dir, rel))
		if err != nil {
			return err
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("%s came back changed", rel)
		}
	}
	return nil
}
