package verify

import (
	"errors"
	"io/fs"
	"path"

	"ctxfs/internal/cas"
	"ctxfs/internal/chunkstore"
	"ctxfs/internal/session"
)

// owned is what an owner has beside sessions.
type owned struct{ cold *chunkstore.Store }

func (v *verifier) close() {
	for _, o := range v.colds {
		_ = o.cold.Close() // it was only read
	}
}

// owner reads an owner's cold store and counts what is in quarantine.
func (v *verifier) owner(rel string) error {
	state := path.Join(rel, session.StateDir)
	if q, err := v.store.Dir().ReadDir(path.Join(state, "quarantine")); err == nil {
		v.r.Quarantined += len(q)
	}
	dir := path.Join(state, "chunk")
	if _, err := v.store.Dir().Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	cold, err := session.OpenCold(v.store.Dir(), rel, chunkstore.Options{ReadOnly: true})
	if errors.Is(err, chunkstore.ErrEmpty) {
		return nil
	}
	if err != nil {
		v.problem(dir, "%v", err)
		return nil
	}
	v.colds[rel] = &owned{cold}
	n, err := cold.Check(func(name string, err error) {
		if errors.Is(err, chunkstore.ErrTorn) {
			v.repairable(path.Join(dir, name), "%v", err)
			return
		}
		v.problem(path.Join(dir, name), "%v", err)
	})
	v.r.Blobs += n.Blobs
	v.r.Bytes += n.Bytes
	return err
}

// has tells whether an owner has a blob.
func (v *verifier) has(owner string, id cas.ID) bool {
	o := v.colds[owner]
	return o != nil && o.cold.Has(id)
}
