package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"ctxfs/internal/quality/procs"
)

// growth is a table of what something costs as work grows.
type growth struct {
	title, file string
	label       string // of the first column
	columns     []column
	at          []int
	cells       [][]float64 // by at, by column; nanoseconds or bytes
}

type column struct {
	name string
	unit string // ns, B or /s
	flat bool   // it should not grow
}

func (g *growth) add(at int, cells ...float64) {
	g.at = append(g.at, at)
	g.cells = append(g.cells, cells)
}

func sizes() []int { return []int{1000, 10_000, 100_000} }

// byRecords measures one session as its history grows.
func (b *bench) byRecords() (*growth, error) {
	g := &growth{title: "One session, by records of its history", file: "records.svg", label: "records", columns: []column{
		{"append, p50", "ns", true}, {"append, p99", "ns", true}, {"first pack", "ns", false}, {"next pack, p50", "ns", true},
		{"mount to first ls", "ns", true}, {"resident memory", "B", false}}}
	for _, n := range sizes() {
		cells, err := b.records(n)
		if err != nil {
			return nil, err
		}
		g.add(n, cells...)
	}
	return g, nil
}

func (b *bench) records(n int) (cells []float64, err error) {
	w, err := newWorld(filepath.Join(b.work, "records"), b.programs, os.Geteuid())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.end(), os.RemoveAll(w.dir)) }()
	if err := w.keep("talk", n); err != nil {
		return nil, err
	}
	start, err := w.firstList()
	if err != nil {
		return nil, err
	}
	p := w.peers["ctxfs"]
	talk := filepath.Join(p.kept, "talk")
	first, err := p.client("read", 1, talk+"/context/pack.md")
	if err != nil {
		return nil, err
	}
	add, err := p.client("append", 4000, talk+"/messages.jsonl")
	if err != nil {
		return nil, err
	}
	next, err := p.client("next", 20, talk+"/context/pack.md")
	if err != nil {
		return nil, err
	}
	held, _ := procs.Memory(p.server.Process.Pid)
	return []float64{add.P50, add.P99, first.Each, next.P50, start, float64(held)}, nil
}

// firstList starts ctxfs, lists the sessions once, and gives the time that took.
func (w *world) firstList() (float64, error) {
	from := time.Now()
	if err := w.mountOurs(); err != nil {
		return 0, err
	}
	_, err := os.ReadDir(w.peers["ctxfs"].kept)
	return float64(time.Since(from)), err
}

// bySessions measures one agent as its sessions grow.
func (b *bench) bySessions() (*growth, error) {
	g := &growth{title: "One agent, by its sessions", file: "sessions.svg", label: "sessions", columns: []column{
		{"mount to first ls", "ns", false}, {"ls", "ns", false}, {"ls -l", "ns", false}, {"append, p50", "ns", true},
		{"resident memory at rest, none open", "B", false}, {"memory a session", "B", true}}}
	base := 0.0
	for _, n := range append([]int{1}, sizes()...) {
		cells, err := b.sessions(n, base)
		if err != nil {
			return nil, err
		}
		if n == 1 {
			base = cells[4]
			continue
		}
		g.add(n, cells...)
	}
	return g, nil
}

func (b *bench) sessions(n int, base float64) (cells []float64, err error) {
	w, err := newWorld(filepath.Join(b.work, "sessions"), b.programs, os.Geteuid())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.end(), os.RemoveAll(w.dir)) }()
	if err := w.keepMany(n); err != nil {
		return nil, err
	}
	start, err := w.firstList()
	if err != nil {
		return nil, err
	}
	p := w.peers["ctxfs"]
	if _, err := os.ReadFile(filepath.Join(p.kept, "index/current")); err != nil { // once the index is loaded
		return nil, err
	}
	var took [2][]float64
	for range b.runs {
		for i, argv := range [][]string{{"ls"}, {"ls", "-l"}} {
			ns, err := list(argv...)(p, 0)
			if err != nil {
				return nil, err
			}
			took[i] = append(took[i], ns)
		}
	}
	time.Sleep(settle)
	_, held := procs.Memory(p.server.Process.Pid)
	each := 0.0
	if base > 0 {
		each = (float64(held) - base) / float64(n)
	}
	add, err := p.client("append", 4000, filepath.Join(p.kept, "session-000000/messages.jsonl"))
	return []float64{start, median(took[0]), median(took[1]), add.P50, float64(held), each}, err
}

// byWriters measures how appends of more writers get in each other's way.
func (b *bench) byWriters() (*growth, error) {
	g := &growth{title: "Appends a second, by writers", file: "writers.svg", label: "writers"}
	peers := []string{"native", "loopback", "ctxfs"}
	for _, where := range []string{"one session", "a session each"} {
		for _, p := range peers {
			g.columns = append(g.columns, column{p + ", " + where, "/s", false})
		}
	}
	w, err := newWorld(filepath.Join(b.work, "writers"), b.programs, os.Geteuid())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.end(), os.RemoveAll(w.dir)) }()
	if err := errors.Join(w.mountOurs(), w.mountLoopback()); err != nil {
		return nil, err
	}
	for _, n := range []int{1, 2, 4, 8, 16} {
		cells := make([]float64, 6)
		for i := range cells {
			sessions := 1
			if i >= 3 {
				sessions = n
			}
			var took []float64
			for round := range b.runs {
				t, err := write(w.peers[peers[i%3]], "append", 4000/n, n, sessions, 100*i+round)
				if err != nil {
					return nil, fmt.Errorf("%d writers: %w", n, err)
				}
				took = append(took, 1e9/t.Each)
			}
			cells[i] = median(took)
		}
		g.add(n, cells...)
	}
	return g, nil
}
