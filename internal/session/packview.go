package session

import (
	"time"

	"ctxfs/internal/context/pack"
)

func (x *Session) buildPack(name string) (view, error) {
	f, ok := PackName(name)
	if !ok {
		return view{}, refuse(NotFound, "%s is not a pack: pack.md, pack.json, pack@8000.md, pack.tool.md, pack?a question.md", name)
	}
	// Both files of a pack come from one build, whichever is read first.
	p, _, err := x.packFor(f)
	if err != nil {
		return view{}, err
	}
	if f.JSON {
		return view{data: p.JSON}, nil
	}
	return view{data: p.Markdown}, nil
}

// packFor builds a pack, or finds it, and gives what it was built of.
func (x *Session) packFor(f PackFile) (*pack.Pack, pack.Input, error) {
	f.JSON = false
	key := "for " + f.Name()
	gen := x.generation("")
	if v, ok := x.cache[key]; ok && v.gen == gen {
		return v.pack, v.input, nil
	}
	at, err := x.foldAt(f.At)
	if err != nil {
		return nil, pack.Input{}, err
	}
	in, err := x.input(f.Budget)
	if err != nil {
		return nil, in, err
	}
	in.Target, in.Query, in.History = f.Target, f.Query, at
	began := time.Now()
	p, err := at.work.Build(in)
	if err != nil {
		return nil, in, err
	}
	x.store.Stats.Packs.add(time.Since(began))
	v := view{gen: gen, pack: p}
	if at == x.fold {
		v.input = in // another fold is not worth its memory
	}
	x.keep(key, v)
	if f == (PackFile{}) {
		x.note(gen, p.Tokens, in.Budget)
	}
	return p, in, nil
}

// foldAt gives the fold as of a record: the one there is, or another one, which is not kept.
func (x *Session) foldAt(at int) (*fold, error) {
	if at == 0 || at == x.fold.Len() {
		return x.fold, nil
	}
	if at > x.fold.Len() {
		return nil, refuse(NotFound, "the session has %d records, there is no record %d", x.fold.Len(), at)
	}
	f, err := x.newFold(x.fold.log, x.fold.tokens, x.fold.own, at)
	if err != nil {
		return nil, err
	}
	return f, f.catchUp()
}
