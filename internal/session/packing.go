package session

import (
	"ctxfs/internal/context/pack"
)

// Pack builds a pack past the cache of a mount: what its file in context/ would be.
func (x *Session) Pack(f PackFile) (p *pack.Pack, err error) {
	err = x.folded(func() error {
		p, _, err = x.packFor(f)
		return err
	})
	return p, err
}
