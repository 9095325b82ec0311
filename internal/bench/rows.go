package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// row is a workload that is measured side by side: what one operation takes on each peer.
type row struct {
	name  string
	world string   // where: "" is the privileged one
	peers []string // in the order of their columns
	goal  goal
	// measure gives nanoseconds an operation. Each round is on files of its own, where it writes.
	measure func(p *peer, round int) (float64, error)
}

// goal is what findings ask for: how ctxfs stands to another peer.
type goal struct {
	peer  string
	times float64 // the ratio to reach
	slow  bool    // of times, to be at most so; else of speeds, to be at least so
}

func (g goal) String() string {
	if g.slow {
		return fmt.Sprintf("≤ %g × %s's time", g.times, g.peer)
	}
	return fmt.Sprintf("≥ %g × %s", g.times, g.peer)
}

// ratio is ctxfs's to the other, in the goal's direction.
func (g goal) ratio(ours, other float64) float64 {
	if g.slow {
		return ours / other
	}
	return other / ours
}

func (g goal) reached(ratio float64) bool {
	if g.slow {
		return ratio <= g.times
	}
	return ratio >= g.times
}

// Peers, in the order of the table's columns.
var (
	everyone = []string{"native", "loopback", "bindfs", "mergerfs", "ctxfs"}
	appender = append(everyone, "floor")
	listers  = []string{"native", "loopback", "ctxfs"} // others take minutes
)

func rows() []row {
	least := func(peer string, times float64) goal { return goal{peer: peer, times: times} }
	return []row{
		{name: "read a log of 1 GB", peers: everyone, goal: least("native", 0.95), measure: kept("read", 1, "large/messages.jsonl")},
		{name: "read a log of 1 GB, --log-reads passthrough", world: "past", peers: everyone, goal: least("native", 0.95), measure: kept("read", 1, "large/messages.jsonl")},
		{name: "read a log of 1 GB, unprivileged", world: "user", peers: everyone, goal: least("loopback", 1.5), measure: kept("read", 1, "large/messages.jsonl")},
		{name: "append 430 B, one writer", peers: appender, goal: least("loopback", 2), measure: written("append", 6000, 1, 1)},
		{name: "append, 8 writers, one session", peers: appender, goal: least("loopback", 2), measure: written("append", 1500, 8, 1)},
		{name: "append, 8 writers, 8 sessions", peers: appender, goal: least("loopback", 1.8), measure: written("append", 1500, 8, 8)},
		{name: "open, append a line, close", peers: appender, goal: least("loopback", 2), measure: written("reopen", 2000, 1, 1)},
		{name: "append and fsync, 8 writers, one session", peers: everyone, goal: least("native", 0.5), measure: written("durable", 150, 8, 1)},
		{name: "open, append, durable close (--sync=close; others fsync), 8 writers, one session", world: "sync", peers: everyone,
			goal: least("native", 0.5), measure: durableClose},
		{name: "read pack.md, 100 KB, unchanged", peers: everyone, goal: goal{peer: "loopback", times: 0.5, slow: true}, measure: packRead},
		{name: "ls of 100,000 sessions", world: "many", peers: listers, goal: goal{peer: "native", times: 1.2, slow: true}, measure: list("ls")},
		{name: "ls -l of 100,000 sessions", world: "many", peers: listers, goal: goal{peer: "native", times: 1.5, slow: true}, measure: list("ls", "-l")},
	}
}

// kept does an operation on a file of the store.
func kept(op string, n int, file string) func(*peer, int) (float64, error) {
	return func(p *peer, _ int) (float64, error) {
		t, err := p.client(op, n, filepath.Join(p.kept, file))
		return t.Each, err
	}
}

// written has writers, each n times, write to new sessions.
func written(op string, n, writers, sessions int) func(*peer, int) (float64, error) {
	return func(p *peer, round int) (float64, error) {
		t, err := write(p, op, n, writers, sessions, round)
		return t.Each, err
	}
}

// write has a client write to sessions of that round.
func write(p *peer, op string, n, writers, sessions, round int) (timing, error) {
	var logs []string
	for i := range sessions {
		log, err := p.session(fmt.Sprintf("%s-%s-%d-%d-%d-%d", p.name, op, writers, sessions, round, i))
		if err != nil {
			return timing{}, err
		}
		logs = append(logs, log)
	}
	return p.client(op, n, slices.Repeat(logs, writers/sessions)...)
}

// packRead opens, reads and closes a pack, which is a plain file of the same bytes on other peers.
func packRead(p *peer, _ int) (float64, error) {
	path := filepath.Join(p.dir, "pack.md")
	if p.ours {
		path = filepath.Join(p.kept, "talk/context/pack.md")
	}
	t, err := p.client("read", 300, path)
	return t.Each, err
}

// list runs ls on the sessions of the store.
func list(argv ...string) func(*peer, int) (float64, error) {
	return func(p *peer, _ int) (float64, error) {
		from := time.Now()
		err := p.as(append(argv, p.kept)...)
		return float64(time.Since(from)), err
	}
}

// durableClose has close(2) make the line durable on ctxfs; others need fsync(2).
func durableClose(p *peer, round int) (float64, error) {
	op := "synced"
	if p.ours {
		op = "reopen"
	}
	t, err := write(p, op, 150, 8, 1, round)
	return t.Each, err
}
