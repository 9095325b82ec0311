package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"ctxfs/internal/context/compile"
	"ctxfs/internal/context/pack"
	"ctxfs/internal/context/trace"
)

// TraceNames lists context/trace.
func TraceNames() []string {
	more, _ := compiled()
	return append(trace.Names(), more...)
}

// buildTrace gives context/trace/<name>: records of the pack that context/pack.md is. They are made when one of them is
// read, from the same build, and cost a reader of the pack nothing.
func (x *Session) buildTrace(name string) (view, error) {
	if more, _ := compiled(); slices.Contains(more, name) {
		return x.buildCompiled(name)
	}
	if !slices.Contains(trace.Names(), name) {
		return view{}, refuse(NotFound, "%s is not in context/trace", name)
	}
	t, _, err := x.traceOf(PackFile{})
	if err != nil {
		return view{}, err
	}
	return view{data: t.File(name)}, nil
}

// traceOf gives the records of a pack, and what they were made of.
func (x *Session) traceOf(f PackFile) (*trace.Trace, trace.In, error) {
	p, in, err := x.packFor(f)
	if err != nil {
		return nil, trace.In{}, err
	}
	key := "trace of " + f.Name()
	gen := x.generation("context/trace/")
	if v, ok := x.cache[key]; ok && v.gen == gen {
		return v.trace, v.traceIn, nil
	}
	ti, err := x.traceIn(p, in)
	if err != nil {
		return nil, ti, err
	}
	ti.File = "context/" + f.Name()
	t, err := trace.Build(ti)
	if err == nil {
		x.keep(key, view{gen: gen, trace: t, traceIn: ti})
	}
	return t, ti, err
}

// traceIn gathers what the records of a pack are a function of; mu is held.
func (x *Session) traceIn(p *pack.Pack, in pack.Input) (trace.In, error) {
	ti := trace.In{Pack: p, Input: in, Target: targetName(in.Target), Producer: x.store.opt.Version, Tokenizer: x.fold.tokens, Visible: in.Visibility.Of,
		Boundaries: x.fold.work.Compactions(), Resolves: x.resolves}
	var err error
	if ti.Session, ti.Created, err = x.who(); err != nil {
		return ti, err
	}
	if !x.fold.newest.IsZero() {
		ti.Created = stamp(x.fold.newest.UTC())
	}
	ti.Mask = x.fold.masked
	declared, err := x.optional(Injections)
	if err != nil {
		return ti, err
	}
	ti.Injections = parseInjections([]byte(ti.Mask(string(declared))))
	missing, err := x.optional(MissingFile)
	if err != nil {
		return ti, err
	}
	ti.Missing = mergeMissing([]byte(ti.Mask(string(missing))))
	ti.PolicyRefs = []string{RedactFile}
	if x.store.exists(x.file(compile.PolicyFile)) {
		ti.PolicyRefs = append(ti.PolicyRefs, compile.PolicyFile)
	}
	ti.Before = x.before(trace.ContextID(ti.Session.ID, ti.Target, p, in), ti.Injections)
	return ti, x.pastEvents(&ti)
}

// id is the session's own, and who says the rest that is known of it.
func (x *Session) id() (string, error) {
	data, err := x.readFile("meta.json")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if id := metaField(data, "id"); id != "" {
		return id, nil
	}
	return x.c.Rel + "/" + x.Name(), nil // a session that was made by hand
}

func (x *Session) who() (s trace.Session, created string, err error) {
	if s.ID, err = x.id(); err != nil {
		return s, "", err
	}
	a, err := x.attr()
	if err != nil {
		return s, "", err
	}
	s.Name, s.Agent, s.Scope, s.Model, s.UID = x.Name(), x.c.Agent, string(x.c.Scope), x.c.Model, int(a.UID)
	at, err := x.times("created_at")
	return s, strings.TrimSpace(string(at)), err
}

// before finds the context that was shown to the model last before the present one.
func (x *Session) before(now string, list []trace.Injection) *trace.Before {
	for i := len(list) - 1; i >= 0; i-- {
		id, _ := list[i].Metadata["pack_json"].(string)
		if list[i].ContextID == now || id == "" || list[i].Target != pack.TargetModel {
			continue
		}
		data, err := x.blob(id)
		if err != nil {
			continue // gc.policy does not keep it any more
		}
		var doc struct{ Items []pack.Item }
		if json.Unmarshal(data, &doc) == nil {
			return &trace.Before{ContextID: list[i].ContextID, Items: doc.Items}
		}
	}
	return nil
}

// resolves tells whether a reference of a record leads somewhere; mu is held.
func (x *Session) resolves(ref string) bool {
	if id, ok := strings.CutPrefix(ref, "child:"); ok {
		return CheckName(id) == nil && x.store.exists(x.file("context/child/"+id))
	}
	_, ok, err := x.fold.work.Open(x.fold, strings.TrimPrefix(ref, "swap:"))
	if ok && err == nil {
		return true
	}
	_, ok, err = x.fold.work.DedupBlob(x.fold, ref)
	if ok && err == nil {
		return true
	}
	_, err = x.blob(ref)
	return err == nil
}

// past is what events.jsonl says that traces tell too, as far as it was read.
type past struct {
	read        int64
	compactions []trace.Compaction
	exports     []trace.Export
	lines       [][]byte // the newest
	bytes       int      // of them
	count       int      // of all
}

// Of events.jsonl so many lines are kept for what tells of the latest, and so many bytes; and so many compactions and exports, the
// newest, of lines that are no longer than that.
const (
	keptEvents     = 400
	keptEventBytes = 1 << 20
	keptChanges    = 1000
	keptChangeLine = 256 << 10
)

func (x *Session) eventSize() int64 {
	size, _, err := x.LogStat(Events)
	if err != nil {
		return 0
	}
	return size
}

// pastEvents reads what came to events.jsonl since the last time; mu is held.
func (x *Session) pastEvents(in *trace.In) error {
	log, err := x.Log(Events)
	if err != nil {
		return err
	}
	defer x.Release()
	if x.past.read > log.Size() {
		x.past = past{}
	}
	for x.past.read < log.Size() {
		buf, err := wholeLines(log, x.past.read, log.Size())
		if err != nil && err != io.EOF {
			return err
		}
		for line := range bytes.Lines(buf) {
			x.past.event(bytes.TrimSuffix(line, []byte{'\n'}), in.Mask)
		}
		x.past.read += int64(len(buf))
	}
	in.Compactions, in.Exports = x.past.compactions, x.past.exports
	return nil
}

func (p *past) event(line []byte, mask func(string) string) {
	if len(line) == 0 {
		return
	}
	p.count++
	p.bytes += len(line)
	p.lines = append(p.lines, bytes.Clone(line))
	for len(p.lines) > keptEvents || p.bytes > keptEventBytes {
		p.bytes -= len(p.lines[0])
		p.lines = p.lines[1:]
	}
	if len(line) > keptChangeLine || !bytes.Contains(line, []byte(`"ctxfs.context.compaction"`)) && !bytes.Contains(line, []byte(`"context.exported"`)) {
		return
	}
	var e struct {
		ID, Type, Time string
		Data           json.RawMessage
	}
	if json.Unmarshal([]byte(mask(string(line))), &e) != nil {
		return
	}
	switch e.Type {
	case "ctxfs.context.compaction":
		var c trace.Compaction
		if json.Unmarshal(e.Data, &c) == nil && c.CompactionID != "" {
			p.compactions = latestOf(append(p.compactions, c))
		}
	case "context.exported":
		p.exports = latestOf(append(p.exports, trace.Export{ID: e.ID, Time: e.Time, Data: e.Data}))
	}
}

func latestOf[T any](list []T) []T { return list[max(0, len(list)-keptChanges):] }

// later is the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
