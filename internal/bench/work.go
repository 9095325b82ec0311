package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"ctxfs/internal/appendlog"
	"ctxfs/internal/context/pack"
	"ctxfs/internal/context/token"
	"ctxfs/internal/quality/made"
	"ctxfs/internal/record"
)

// works are what instructions are counted of: the parts of the daemon that a request waits for, each on made input. setup is
// done before.
func works() map[string]func() (work func() error, err error) {
	return map[string]func() (func() error, error){
		"append": appendWork,
		"token":  tokenWork,
		"pack":   packWork,
		"next":   nextWork,
	}
}

// workNames are their names in order.
func workNames() []string { return slices.Sorted(maps.Keys(works())) }

// doWork does one work. Its setup costs as much as that of the same work done zero times.
func doWork(name string, skip bool) error {
	setup, ok := works()[name]
	if !ok {
		return fmt.Errorf("no work %q", name)
	}
	work, err := setup()
	if err != nil || skip {
		return err
	}
	return work()
}

// appendWork checks 10,000 lines and writes each to a log.
func appendWork() (func() error, error) {
	dir, err := os.MkdirTemp("", "ctxfs-work-")
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "log"), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil { // the file has no name from here on: nothing is left behind
		return nil, err
	}
	log, err := appendlog.New(f, func([]byte, error) error { return nil })
	if err != nil {
		return nil, err
	}
	return func() error {
		w := log.NewWriter()
		for range 10_000 {
			if err := w.Write(line()); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func tokenWork() (func() error, error) {
	enc, err := token.New(token.Default)
	text := string(made.Log(500))
	return func() error { enc.Count(text); return nil }, err
}

// packed is a session of n made records in memory.
type packed struct {
	log *record.Memory
	set *pack.Workset
	n   int
}

func newPacked(records, most int) (*packed, error) {
	enc, err := token.New(token.Default)
	if err != nil {
		return nil, err
	}
	return &packed{log: record.NewMemory(made.Log(records + most)), set: pack.NewWorkset(enc)}, nil
}

// add appends records and builds the pack after them.
func (p *packed) add(records int) error {
	for range records {
		p.n++
		raw, err := p.log.Raw(p.n)
		if err != nil {
			return err
		}
		r, err := p.log.Record(p.n)
		if err != nil {
			return err
		}
		p.set.Add(r, raw)
	}
	_, err := p.set.Build(pack.Input{Session: "s", Agent: "a", Budget: 32000, History: p.log})
	return err
}

// packWork is the first pack of an old session.
func packWork() (func() error, error) {
	p, err := newPacked(1000, 0)
	return func() error { return p.add(1000) }, err
}

// nextWork is an append and the pack after it, ten times.
func nextWork() (func() error, error) {
	p, err := newPacked(1000, 10)
	if err != nil {
		return nil, err
	}
	return func() error {
		for range 10 {
			if err := p.add(1); err != nil {
				return err
			}
		}
		return nil
	}, p.add(1000)
}
