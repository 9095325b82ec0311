package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"ctxfs/internal/archive"
	"ctxfs/internal/beneath"
	"ctxfs/internal/cas"
	"ctxfs/internal/chunkstore"

	"github.com/klauspost/compress/zstd"
)

// method is one way to store a set.
type method struct {
	name    string
	command string // that it needs; empty: none
	run     func(s *set, dir string) (row, error)
}

func ours() []method {
	return []method{
		{name: "ctxfs, archived and collected", run: func(s *set, dir string) (row, error) { return s.own(dir, 0, true) }},
		{name: "ctxfs, archived, before a collection", run: func(s *set, dir string) (row, error) { return s.own(dir, 0, false) }},
		{name: "ctxfs, best compression at once", run: func(s *set, dir string) (row, error) { return s.own(dir, zstd.SpeedBestCompression, false) }},
	}
}

// own stores the set in a chunk store below dir, and reads it back through another handle.
func (s *set) own(dir string, level zstd.EncoderLevel, collect bool) (r row, err error) {
	root, err := beneath.Open(dir)
	if err != nil {
		return r, err
	}
	defer func() { _ = root.Close() }()
	if r.ingest, err = s.ingest(root, level); err != nil {
		return r, err
	}
	if collect {
		if r.collect, err = s.collect(root); err != nil {
			return r, err
		}
	}
	if r.stored, err = size(dir); err != nil {
		return r, err
	}
	start := time.Now()
	if err := s.restore(root); err != nil {
		return r, err
	}
	r.restore = time.Since(start)
	return r, nil
}

// ingest stores all and seals it.
func (s *set) ingest(root *beneath.Dir, level zstd.EncoderLevel) (time.Duration, error) {
	start := cpu(syscall.RUSAGE_SELF)
	st, err := chunkstore.Open(root, "chunk", chunkstore.Options{Level: level})
	if err != nil {
		return 0, err
	}
	defer func() { _ = st.Close() }()
	if s.blobs {
		err = s.put(st)
	} else {
		err = s.archive(st, root)
	}
	if err == nil {
		err = st.Update(func(tx *chunkstore.Tx) error { return tx.Seal() })
	}
	return cpu(syscall.RUSAGE_SELF) - start, err
}

// collect does what ctxfs gc does later: it compresses better.
func (s *set) collect(root *beneath.Dir) (time.Duration, error) {
	start := cpu(syscall.RUSAGE_SELF)
	st, err := chunkstore.Open(root, "chunk", chunkstore.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { _ = st.Close() }()
	live := chunkstore.Live{Compress: true}
	for i := 0; i < len(s.files) && !s.blobs; i++ {
		x, err := archive.Load(root, indexName(i))
		if err != nil {
			return 0, err
		}
		live.Extents = append(live.Extents, x.Extents...)
	}
	err = st.Collect(func(c *chunkstore.Collection) error {
		c.Make(live)
		_, err := c.Run()
		return err
	})
	return cpu(syscall.RUSAGE_SELF) - start, err
}

func (s *set) archive(st *chunkstore.Store, root *beneath.Dir) error {
	for i, rel := range s.files {
		f, err := os.Open(filepath.Join(s.dir, rel))
		if err != nil {
			return err
		}
		_, err = archive.Create(st, root, indexName(i), f, beneath.Owner{})
		if err := f.Close(); err != nil {
			return err
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func indexName(i int) string { return "log-" + strconv.Itoa(i) + ".idx" }

func (s *set) put(st *chunkstore.Store) error {
	return st.Update(func(tx *chunkstore.Tx) error {
		for _, rel := range s.files {
			data, err := os.ReadFile(filepath.Join(s.dir, rel))
			if err != nil {
				return err
			}
			if _, err := tx.Put(data); err != nil {
				return err
			}
		}
		return nil
	})
}

// restore reads all back and holds it against the files.
func (s *set) restore(root *beneath.Dir) error {
	st, err := chunkstore.Open(root, "chunk", chunkstore.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }()
	for i, rel := range s.files {
		want, err := os.ReadFile(filepath.Join(s.dir, rel))
		if err != nil {
			return err
		}
		got, err := s.back(st, root, i, want)
		if err == nil && !bytes.Equal(got, want) {
			err = fmt.Errorf("%s came back changed", rel)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *set) back(st *chunkstore.Store, root *beneath.Dir, i int, want []byte) ([]byte, error) {
	if s.blobs {
		return st.Get(cas.Sum(want))
	}
	r, err := archive.Open(st, root, indexName(i))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
}
