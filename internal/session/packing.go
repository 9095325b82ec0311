package session

import (
	"ctxfs/internal/context/pack"
)

// PackOptions say which pack a command wants.
type PackOptions struct {
	Budget int    // tokens; 0: the session's own
	Query  string // "": the latest user message
	At     int    // build as of this record; 0: the newest
}

// Pack builds a pack past the cache: what pack.md or pack.json would be with these options.
func (x *Session) Pack(opt PackOptions) (*pack.Pack, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	log, err := x.Log(Messages)
	if err != nil {
		return nil, err
	}
	defer x.Release()
	b, err := x.budget()
	if err != nil {
		return nil, err
	}
	enc, err := x.store.encoder(b.Tokenizer)
	if err != nil {
		return nil, err
	}
	x.fold = &fold{log: log, work: pack.NewWorkset(enc), tokens: enc.Name(), limit: opt.At}
	defer func() { x.fold = nil }()
	if err := x.fold.catchUp(); err != nil {
		return nil, err
	}
	if opt.At > x.fold.Len() {
		return nil, refuse(NotFound, "the session has %d records, there is no record %d", x.fold.Len(), opt.At)
	}
	in, err := x.input(opt.Budget)
	if err != nil {
		return nil, err
	}
	in.Query = opt.Query
	return x.fold.work.Build(in)
}
