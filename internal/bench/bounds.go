package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"ctxfs/internal/quality/procs"
)

// bound is something that is measured on ctxfs alone, and what it may be.
type bound struct {
	name, value, goal string
	reached           bool
}

// growthBounds are those that follow from growth.
func growthBounds(records, sessions *growth) []bound {
	last := len(records.at) - 1
	first, ours := records.cells[0], records.cells[last]
	ratio := ours[3] / first[3]
	beyond := (ours[3] - ours[0]) / 1e6
	start, each := sessions.cells[last][0], sessions.cells[last][5]
	return []bound{
		{"pack.md after one append, at 100,000 records / at 1,000", fmt.Sprintf("%.2f", ratio), "≤ 1.5", ratio <= 1.5},
		{"the same at 100,000 records, beyond the append", fmt.Sprintf("%.1f ms", beyond), "≤ 5 ms", beyond <= 5},
		{"mount of a store with 100,000 sessions, to the first ls", short(start), "≤ 1 s", start <= 1e9},
		{"daemon memory a session that is not open", fmt.Sprintf("%.0f B", each), "≤ 100 B", each <= 100},
	}
}

// How long a daemon is left alone before it counts as at rest, and how long its rest is watched.
const (
	settle = 15 * time.Second
	watch  = 10 * time.Second
)

// rest watches a daemon with one session open that nobody asks anything.
func (b *bench) rest() (out []bound, err error) {
	w, err := newWorld(filepath.Join(b.work, "rest"), b.programs, os.Geteuid())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.end(), os.RemoveAll(w.dir)) }()
	if err := errors.Join(w.keep("talk", 1000), w.mountOurs()); err != nil {
		return nil, err
	}
	p := w.peers["ctxfs"]
	talk := filepath.Join(p.kept, "talk")
	if _, err := p.client("next", 1, talk+"/context/pack.md"); err != nil {
		return nil, err
	}
	open, err := os.Open(talk + "/messages.jsonl")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, open.Close()) }()
	time.Sleep(settle)
	before := procs.Wakeups(p.server.Process.Pid)
	time.Sleep(watch)
	woken := procs.Wakeups(p.server.Process.Pid) - before
	held, own := procs.Memory(p.server.Process.Pid)
	return []bound{
		{fmt.Sprintf("daemon at rest, one session open: wakeups in %v", watch), fmt.Sprint(woken), "0", woken == 0},
		{"its resident memory (of it its own, not the program's file)", fmt.Sprintf("%.1f MB (%.1f MB)", float64(held)/1e6, float64(own)/1e6),
			"≤ 40 MB", held <= 40e6},
	}, nil
}
