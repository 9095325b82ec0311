package fsnode

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// contentFor is content for a user, in whose turn.
func (f *FS) contentFor(uid uint32, n node) ([]byte, error) {
	if f.builds(n) {
		defer f.handles.quotas.build(uid)()
	}
	return f.content(n)
}

// content gives what a generated or control file holds now.
func (f *FS) content(n node) ([]byte, error) {
	switch n.kind {
	case kStatus:
		return f.status()
	case kIndexList, kIndexCurrent:
		return f.indexFile(n)
	case kNamed:
		parent, name, _ := f.table.where(n.e)
		if kind(parent) == kByCWD {
			return f.byCWD(parent, name)
		}
	}
	x, err := f.session(n)
	if err != nil {
		return nil, err
	}
	name, err := f.genName(n)
	if err != nil {
		return nil, err
	}
	if f.class(n) == cControl {
		return x.ReadControl(name)
	}
	return x.View(name)
}

// indexFile gives index/list or index/current (Session ABI, Session Index).
func (f *FS) indexFile(n node) ([]byte, error) {
	c, err := f.container(n)
	if err != nil {
		return nil, err
	}
	if n.kind == kIndexCurrent {
		name, err := c.Current()
		return line(name), err
	}
	return c.ListFile()
}

func (f *FS) byCWD(parent uint64, key string) ([]byte, error) {
	p, err := f.node(parent)
	if err != nil {
		return nil, err
	}
	c, err := f.container(p)
	if err != nil {
		return nil, err
	}
	name, err := c.ByCWD(key)
	return line(name), err
}

// line writes a value; no value is an empty file.
func line(value string) []byte {
	if value == "" {
		return nil
	}
	return []byte(value + "\n")
}

// status tells what the mount is and did, as `key: value` lines (design: section 2).
func (f *FS) status() ([]byte, error) {
	sessions, err := f.store.Count()
	if err != nil {
		return nil, err
	}
	s := f.store.Stats
	reads := "direct"
	if f.readPast() {
		reads = "passthrough"
	}
	conns := 0
	if f.opt.Sockets != nil {
		conns = f.opt.Sockets.Conns()
	}
	var b strings.Builder
	for _, kv := range []struct {
		key   string
		value any
	}{
		{"version", f.opt.Version}, {"store", f.store.Path()}, {"mountpoint", f.opt.Mountpoint}, {"pid", f.pid()}, {"worker", os.Getpid()}, {"workers", f.workers()}, {"program", f.opt.Program},
		{"uptime_seconds", int64(time.Since(f.started).Seconds())}, {"budget", f.store.Budget()}, {"tokenizer", f.store.Tokenizer()},
		{"log_reads", reads}, {"sessions", sessions}, {"temp_sessions", f.store.Temporary()}, {"open_files", f.handles.count()}, {"connections", conns},
		{"appends", s.Appends.Load()}, {"appended_bytes", s.Appended.Bytes.Load()}, {"quarantined", s.Quarantined()},
		{"packs_built", s.Packs.Count()}, {"pack_cache_hits", s.PackHits.Load()},
	} {
		fmt.Fprintf(&b, "%s: %v\n", kv.key, kv.value)
	}
	return []byte(b.String()), nil
}

// pid is the process that ends last: the supervisor, where there is one.
func (f *FS) pid() int {
	if f.opt.Supervisor > 0 {
		return os.Getppid()
	}
	return os.Getpid()
}

// workers is how many processes have served the mount.
func (f *FS) workers() uint64 {
	if f.region == nil {
		return 1
	}
	return f.region.Workers()
}
