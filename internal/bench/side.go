package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// result is what a row's operation took, in nanoseconds, by peer and round.
type result struct {
	row
	took map[string][]float64
}

func median(xs []float64) float64 {
	sorted := slices.Sorted(slices.Values(xs))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/2]
}

// ratio is the median of the rounds' ratios: what slows the machine for a while slows the peers of a round alike.
func (r *result) ratio() float64 {
	var all []float64
	for i, ours := range r.took["ctxfs"] {
		all = append(all, r.goal.ratio(ours, r.took[r.goal.peer][i]))
	}
	return median(all)
}

// sideBySide measures the rows.
func (b *bench) sideBySide() (all []result, err error) {
	for _, in := range []string{"", "past", "sync", "user", "many"} {
		var todo []row
		for _, r := range rows() {
			if r.world == in && b.only.MatchString(r.name) {
				todo = append(todo, r)
			}
		}
		if len(todo) == 0 {
			continue
		}
		some, err := b.inWorld(in, todo)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func (b *bench) inWorld(name string, todo []row) (all []result, err error) {
	uid := os.Geteuid()
	if name == "user" {
		uid = userID()
	}
	w, err := newWorld(filepath.Join(b.work, "world-"+name), b.programs, uid)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.end(), os.RemoveAll(w.dir)) }()
	var flags []string
	switch name {
	case "many":
		err = w.keepMany(100_000)
	case "sync":
		flags = []string{"--sync=close"}
	case "past":
		flags = []string{"--log-reads=passthrough"}
		err = w.keepLarge("large", 1<<30)
	default:
		err = errors.Join(w.keepLarge("large", 1<<30), w.keep("talk", 1000))
	}
	if err = errors.Join(err, w.mountOurs(flags...), w.mountLoopback(), w.mountPassthrough()); err != nil {
		return nil, err
	}
	if name == "" {
		if err := errors.Join(w.mountFloor(), w.pack()); err != nil {
			return nil, err
		}
	}
	for _, r := range todo {
		res, err := b.measure(w, r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
		fmt.Print(res.line())
		all = append(all, *res)
	}
	return all, nil
}

// pack has a pack of about 100 KB stand on every peer: theirs is a plain file.
func (w *world) pack() error {
	talk := filepath.Join(w.peers["ctxfs"].kept, "talk/context")
	if err := os.WriteFile(filepath.Join(talk, "budget"), []byte("43000\n"), 0o600); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(talk, "pack.md"))
	if err != nil {
		return err
	}
	return os.WriteFile(w.back("plain", "pack.md"), text, 0o600)
}

// measure has each peer do a row's operation in turns. A first round does not count.
func (b *bench) measure(w *world, r row) (*result, error) {
	res := &result{row: r, took: map[string][]float64{}}
	for round := range b.runs + 1 {
		for _, name := range r.peers {
			p := w.peers[name]
			if p == nil {
				continue
			}
			ns, err := r.measure(p, round)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				res.took[name] = append(res.took[name], ns)
			}
		}
	}
	return res, nil
}

// line is the row in the table.
func (r *result) line() string {
	var s strings.Builder
	fmt.Fprintf(&s, "| %s |", r.name)
	for _, p := range appender {
		fmt.Fprintf(&s, " %s |", short(median(r.took[p])))
	}
	ratio := r.ratio()
	fmt.Fprintf(&s, " %.2f | %s | %s |\n", ratio, r.goal, yes(r.goal.reached(ratio)))
	return s.String()
}

func yes(reached bool) string {
	if reached {
		return "yes"
	}
	return "no"
}

// short writes nanoseconds for people.
func short(ns float64) string {
	if ns == 0 {
		return "–"
	}
	return time.Duration(ns).Round(time.Duration(max(1, ns/1000))).String()
}
