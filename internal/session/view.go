package session

import (
	"path"
	"strings"

	"ctxfs/internal/context/compile"
	"ctxfs/internal/context/derive"
	"ctxfs/internal/context/pack"
	"ctxfs/internal/context/trace"
)

// view is a generated file as of one generation.
type view struct {
	gen  generation
	data []byte
	// Of a pack: itself, what it was built of, and its records, once they were asked for.
	pack     *pack.Pack
	input    pack.Input
	trace    *trace.Trace
	traceIn  trace.In
	compiled *compile.Out
	bundle   map[string][]byte
}

// generation names a state of everything that packs are built from.
type generation struct {
	size   int64  // of messages.jsonl
	ctl    uint64 // changes beside it
	events int64  // size of events.jsonl, for what is made of it too
}

// generation is that of a view now; mu is held and the fold is ready. What a trace says is made of events.jsonl too.
func (x *Session) generation(name string) generation {
	gen := generation{size: x.fold.size(), ctl: x.ctl.Load()}
	if madeOfEvents(name) {
		gen.events = x.eventSize()
	}
	return gen
}

// maxViews is how many views of one generation are kept.
const maxViews = 64

// View gives a generated file of the session: bytes that never change once given. name is relative to the session;
// Appended or Touch before the call are seen.
func (x *Session) View(name string) ([]byte, error) {
	switch name {
	case "created_at", "updated_at":
		return x.times(name)
	}
	if data, ok := x.Current(name); ok {
		x.store.Stats.PackHits.Add(1)
		return data, nil
	}
	var v view
	err := x.folded(func() (err error) {
		v, err = x.built(name)
		return err
	})
	return v.data, err
}

// Current gives a generated file that was made before, when it is what View would give now; it waits for nobody, and asks no
// file: what lies below a store changes through who holds it. Traces and channels, which are made of events too, are never given.
func (x *Session) Current(name string) ([]byte, bool) {
	if madeOfEvents(name) || !x.mu.TryLock() {
		return nil, false
	}
	defer x.mu.Unlock()
	v, ok := x.cache[name]
	if !ok || x.fold == nil || v.gen.ctl != x.ctl.Load() || !x.logMu.TryLock() {
		return nil, false
	}
	defer x.logMu.Unlock()
	if log := x.logs[Messages]; log == nil || log != x.fold.log || log.Size() != v.gen.size {
		return nil, false
	}
	return v.data, true
}

func madeOfEvents(name string) bool {
	return strings.HasPrefix(name, "context/trace/") || strings.HasPrefix(name, "context/channels/")
}

// folded runs fn with the fold brought up to the log.
func (x *Session) folded(fn func() error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	done, err := x.ready()
	if err != nil {
		return err
	}
	defer done()
	return fn()
}

// ready brings the fold up to the log. The session is in use until done is called; mu is held.
func (x *Session) ready() (done func(), err error) {
	log, err := x.Log(Messages)
	if err != nil {
		return nil, err
	}
	b, err := x.budget()
	if err != nil {
		x.Release()
		return nil, err
	}
	enc, err := x.store.encoder(b.Tokenizer)
	if err != nil {
		x.Release()
		return nil, err
	}
	own, err := x.optional(RedactFile)
	if err != nil {
		x.Release()
		return nil, err
	}
	if x.fold == nil || x.fold.log != log || x.fold.tokens != enc.Name() || x.fold.own != string(own) {
		if x.fold, err = x.newFold(log, enc.Name(), string(own), 0); err != nil {
			x.Release()
			return nil, err
		}
		x.forget()
		x.past = past{} // it is masked by the rules of the fold before
	}
	if err := x.fold.catchUp(); err != nil {
		x.Release()
		return nil, err
	}
	x.weigh()
	return x.Release, nil
}

// built gives a view from the cache or makes it; mu is held and the fold is ready.
func (x *Session) built(name string) (view, error) {
	gen := x.generation(name)
	if v, ok := x.cache[name]; ok && v.gen == gen {
		x.store.Stats.PackHits.Add(1)
		return v, nil
	}
	v, err := x.build(name)
	if err != nil {
		return view{}, err
	}
	v.gen = gen
	x.keep(name, v)
	return v, nil
}

// maxViewBytes is how many bytes of views a session keeps, beside the newest one: 64 MiB.
const maxViewBytes = 64 << 20

// keep puts a view into the cache; mu is held.
func (x *Session) keep(name string, v view) {
	if len(x.cache) >= maxViews || x.cached+int64(len(v.data)) > maxViewBytes {
		x.forget()
	}
	x.cached += int64(len(v.data) - len(x.cache[name].data))
	x.cache[name] = v
	x.weigh()
}

// weigh says what the session takes; mu is held.
func (x *Session) weigh() {
	x.weight.Store(x.fold.size() + x.cached)
	x.store.used(x)
}

// forget empties the cache; mu is held.
func (x *Session) forget() {
	x.cache, x.cached = map[string]view{}, 0
}

func (x *Session) build(name string) (view, error) {
	rest, ok := strings.CutPrefix(name, "context/")
	switch {
	case name == "latest.md":
		data, err := x.fold.latest()
		return view{data: data}, err
	case !ok:
	case strings.HasPrefix(rest, "pack"):
		return x.buildPack(rest)
	case strings.HasPrefix(rest, "trace/"):
		return x.buildTrace(rest[len("trace/"):])
	case strings.HasPrefix(rest, "channels/"):
		return x.buildCompiled(rest)
	case strings.HasPrefix(rest, "bundle/"):
		return x.buildBundle(rest[len("bundle/"):])
	case strings.HasPrefix(rest, "imported/"):
		return x.buildImported(rest[len("imported/"):])
	case strings.HasPrefix(rest, "recall/"):
		return x.buildRecall(rest[len("recall/"):])
	case strings.HasPrefix(rest, "swap/"):
		return x.buildSwap(rest[len("swap/"):])
	case strings.HasPrefix(rest, "dedup/"):
		return x.buildDedup(rest[len("dedup/"):])
	}
	return view{}, refuse(NotFound, "%s is not a generated file", name)
}

// buildRecall answers the question that a name in context/recall/ asks.
func (x *Session) buildRecall(name string) (view, error) {
	in, err := x.input(0)
	if err != nil {
		return view{}, err
	}
	query, budget := recallName(name)
	if budget == 0 {
		budget = in.Budget - in.Reserve
	}
	data, err := x.fold.work.Recall(in, query, budget)
	return view{data: data}, err
}

func (x *Session) buildSwap(name string) (view, error) {
	if open, ok := strings.CutPrefix(name, "open/"); ok {
		data, found, err := x.fold.work.Open(x.fold, open)
		return foundView(data, found, err, open)
	}
	in, err := x.input(0)
	if err != nil {
		return view{}, err
	}
	if name == "index.jsonl" {
		data, _, err := x.fold.work.SwapIndex(in)
		return view{data: data}, err
	}
	id := path.Base(name)
	data, found, err := x.fold.work.SwapChunk(in, id)
	return foundView(data, found, err, id)
}

func (x *Session) buildDedup(name string) (view, error) {
	if name == "index.jsonl" {
		return view{data: x.fold.work.DedupIndex()}, nil
	}
	id := path.Base(name)
	data, found, err := x.fold.work.DedupBlob(x.fold, id)
	if err == nil && !found { // a picture of an import, or what was shown once
		if data, err := x.blob(id); err == nil {
			return view{data: data}, nil
		}
	}
	return foundView(data, found, err, id)
}

func foundView(data []byte, found bool, err error, name string) (view, error) {
	if err == nil && !found {
		err = refuse(NotFound, "%s is not there", name)
	}
	return view{data: data}, err
}

// derived gives a derived file as the log says.
func (x *Session) derived(name string) (data []byte, err error) {
	err = x.folded(func() (err error) {
		data, err = x.fold.work.Derived(x.fold, derive.Kind(path.Base(name)))
		return err
	})
	return data, err
}

// SwapIDs lists swap/chunk, and DedupIDs dedup/blob.
func (x *Session) SwapIDs() ([]string, error) {
	return x.ids(func(in pack.Input) ([]string, error) {
		_, ids, err := x.fold.work.SwapIndex(in)
		return ids, err
	})
}

// DedupIDs lists dedup/blob.
func (x *Session) DedupIDs() ([]string, error) {
	return x.ids(func(pack.Input) ([]string, error) { return x.fold.work.DedupIDs(), nil })
}

func (x *Session) ids(list func(pack.Input) ([]string, error)) (ids []string, err error) {
	err = x.folded(func() error {
		in, err := x.input(0)
		if err != nil {
			return err
		}
		ids, err = list(in)
		return err
	})
	return ids, err
}

// DropPack forgets the cached pack: the next read builds it again.
func (x *Session) DropPack() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.forget()
}

// Appended says that lines were committed to the named log.
func (x *Session) Appended(log string) {
	x.store.Stats.Appends.Add(1)
	x.c.idx.touch(x.Name())
	if log == Messages {
		x.wake()
	}
	x.stale()
}
