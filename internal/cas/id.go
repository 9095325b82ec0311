// Package cas names bytes by their hash. Package chunkstore keeps blobs under those names, and castest holds any store
// that does to its contract. Ids are BLAKE3 (`blake3-<64 hex>`); `sha256-<64 hex>` is understood on reading, as the
// Context Runtime ABI (Swap, Dedup) writes it.
package cas

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"lukechampine.com/blake3"
)

// ID is the BLAKE3-256 hash of a blob's bytes. It is comparable.
type ID [32]byte

const (
	prefix       = "blake3-"
	sha256Prefix = "sha256-"
)

// ErrBadID says that a name is not an id.
var ErrBadID = errors.New("not a content id")

// ErrCorrupt says that a blob's bytes are not those that its id names.
var ErrCorrupt = errors.New("blob does not match its id")

// Sum gives the id of data.
func Sum(data []byte) ID { return blake3.Sum256(data) }

// String writes id as `blake3-<64 hex>`.
func (id ID) String() string { return prefix + hex.EncodeToString(id[:]) }

// Parse reads `blake3-<64 hex>`.
func Parse(s string) (ID, error) {
	var id ID
	h, ok := strings.CutPrefix(s, prefix)
	if !ok || len(h) != 2*len(id) {
		return id, fmt.Errorf("%w: %q", ErrBadID, s)
	}
	if _, err := hex.Decode(id[:], []byte(h)); err != nil || strings.ToLower(h) != h {
		return id, fmt.Errorf("%w: %q", ErrBadID, s)
	}
	return id, nil
}

// Matches tells whether data has the name s, in either family of names.
func Matches(s string, data []byte) bool {
	if h, ok := strings.CutPrefix(s, sha256Prefix); ok {
		sum := sha256.Sum256(data)
		return h == hex.EncodeToString(sum[:])
	}
	return Sum(data).String() == s
}
