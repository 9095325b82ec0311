package pack

import (
	"cmp"

	"ctxfs/internal/swap"
)

// Digest identifies the content behind an item, an omission or an input. Exactly one of its hashes is set: its name says of which
// bytes it is. docs/formats.md has how each is computed.
type Digest struct {
	Hash string `json:"hash,omitempty"`       // BLAKE3 of the bytes at the path
	Tree string `json:"tree_hash,omitempty"`  // of records: a tree over the lines at the path
	AsOf string `json:"as_of_hash,omitempty"` // BLAKE3 of a derived file as the first Records records make it: at its path it goes on changing
	// Records is set with AsOf.
	Records int `json:"as_of,omitempty"`
}

// Value returns the hash that is set.
func (d Digest) Value() string { return cmp.Or(d.Hash, d.Tree, d.AsOf) }

// Fields returns the members of d by their names in JSON.
func (d Digest) Fields() map[string]any {
	switch {
	case d.Tree != "":
		return map[string]any{"tree_hash": d.Tree}
	case d.AsOf != "":
		return map[string]any{"as_of_hash": d.AsOf, "as_of": d.Records}
	}
	return map[string]any{"hash": d.Hash}
}

func hashOf(data []byte) Digest { return Digest{Hash: swap.Sum(data).String()} }

// digest returns that of the records of r. Where the tree over their lines is BLAKE3 of these lines, it is a plain hash.
func (w *Workset) digest(r swap.Range) Digest {
	h := w.hash(r).String()
	if swap.Plain(r) {
		return Digest{Hash: h}
	}
	return Digest{Tree: h}
}
