package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"ctxfs/internal/archive"
	"ctxfs/internal/beneath"
	"ctxfs/internal/chunkstore"

	"github.com/klauspost/compress/zstd"
)

// growth prints what the series takes beside its final versions alone, both compressed alike.
func growth(sets []*set, work string) error {
	for _, l := range []struct {
		name  string
		level zstd.EncoderLevel
	}{{"as archived", 0}, {"best compression at once", zstd.SpeedBestCompression}} {
		var stored [2]int64
		for i, s := range sets[1:3] {
			dir, err := os.MkdirTemp(work, "growth-")
			if err != nil {
				return err
			}
			r, err := s.own(dir, l.level, false)
			if err != nil {
				return err
			}
			stored[i] = r.stored
		}
		fmt.Printf("\ngrowth series, %s: %d bytes, %.3f x its final versions alone\n", l.name, stored[0], float64(stored[0])/float64(stored[1]))
	}
	return nil
}

// randomReads archives a log of about n bytes, and reads 4 KB of it at random, with a cache that is cold at first.
func randomReads(sets []*set, work string, n int64, cache int) error {
	plain := filepath.Join(work, "large.jsonl")
	if err := sets[0].enlarge(plain, n); err != nil {
		return err
	}
	root, err := beneath.Open(work)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	large := &set{dir: work, files: []string{"large.jsonl"}}
	if large.raw, err = fileSize(plain); err != nil {
		return err
	}
	start := time.Now()
	took, err := large.ingest(root, 0)
	if err != nil {
		return err
	}
	wall := time.Since(start)
	stored, err := size(filepath.Join(work, "chunk"))
	if err != nil {
		return err
	}
	index, err := fileSize(filepath.Join(work, indexName(0)))
	if err != nil {
		return err
	}
	fmt.Printf("\na log of %.0f MB, of which half the lines stand in it again and again and half are changed each time:\n", mb(large.raw))
	fmt.Printf("%d bytes stored (%.2f %%), of which the index %d; %.0f MB/s a core, %.0f by the clock\n",
		stored+index, 100*float64(stored+index)/float64(large.raw), index, rate(large.raw, took), rate(large.raw, wall))
	return readAtRandom(root, plain, cache)
}

func fileSize(name string) (int64, error) {
	st, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

// enlarge writes the files of s again and again. In every other line of the later copies digits are changed, about
// one in eight, so that little of it repeats.
func (s *set) enlarge(name string, n int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	rnd := rand.New(rand.NewPCG(1, 2))
	written := int64(0)
	for round := 0; written < n; round++ {
		for _, rel := range s.files {
			data, err := os.ReadFile(filepath.Join(s.dir, rel))
			if err != nil {
				return err
			}
			if round > 0 {
				mutate(data, rnd)
			}
			if _, err := w.Write(data); err != nil {
				return err
			}
			if written += int64(len(data)); written >= n {
				break
			}
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

func mutate(data []byte, rnd *rand.Rand) {
	for line := range bytes.Lines(data) {
		if rnd.IntN(2) == 0 {
			continue
		}
		for i, c := range line {
			if c >= '0' && c <= '9' && rnd.IntN(8) == 0 {
				line[i] = '0' + byte(rnd.IntN(10))
			}
		}
	}
}

func readAtRandom(root *beneath.Dir, plain string, cache int) error {
	f, err := os.Open(plain)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read only
	st, err := chunkstore.Open(root, "chunk", chunkstore.Options{ReadOnly: true, CacheBytes: cache})
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }()
	start := time.Now()
	r, err := archive.Open(st, root, indexName(0))
	if err != nil {
		return err
	}
	open := time.Since(start)
	times, err := sample(r, f, r.Size(), 4000)
	if err != nil {
		return err
	}
	fmt.Printf("opened in %v; random reads of 4 KB: p50 %v, p90 %v, p99 %v, max %v\n", open.Round(time.Microsecond*100),
		times[len(times)/2], times[len(times)*9/10], times[len(times)*99/100], times[len(times)-1])
	start, before := time.Now(), cpu(syscall.RUSAGE_SELF)
	n, err := io.Copy(io.Discard, io.NewSectionReader(r, 0, r.Size()))
	fmt.Printf("read from end to end: %.0f MB/s by the clock, %.0f a core\n", rate(n, time.Since(start)), rate(n, cpu(syscall.RUSAGE_SELF)-before))
	return err
}

// sample reads n times 4 KB at random, holds them against the plain file, and gives how long each took, sorted.
func sample(r, plain io.ReaderAt, size int64, n int) ([]time.Duration, error) {
	rnd := rand.New(rand.NewPCG(3, 4))
	got, want := make([]byte, 4096), make([]byte, 4096)
	var times []time.Duration
	for range n {
		off := rnd.Int64N(size - 4096)
		start := time.Now()
		if _, err := r.ReadAt(got, off); err != nil {
			return nil, err
		}
		times = append(times, time.Since(start).Round(time.Microsecond))
		if _, err := plain.ReadAt(want, off); err != nil {
			return nil, err
		}
		if !bytes.Equal(got, want) {
			return nil, fmt.Errorf("4 KB at %d differ", off)
		}
	}
	slices.Sort(times)
	return times, nil
}
