package token

import (
	"embed"
	"encoding/binary"
	"errors"

	"github.com/klauspost/compress/zstd"
)

// The vocabularies, as gen packs them; data/README.md names their source and licence.
//
//go:embed data/*.vocab.zst
var vocabs embed.FS

var errVocab = errors.New("the vocabulary is damaged")

// unpack builds the table of the named vocabulary.
func unpack(name string) (*ranks, error) {
	file, limit := name, -1
	if name == "r50k_base" {
		file, limit = "p50k_base", 50256 // p50k_base is r50k_base and runs of spaces after it
	}
	packed, err := vocabs.ReadFile("data/" + file + ".vocab.zst")
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	raw, err := dec.DecodeAll(packed, nil)
	if err != nil {
		return nil, err
	}
	return parse(raw, limit)
}

// parse reads the form that gen writes: the number of ranks, the length of each token, the bytes of all. limit,
// when not negative, is the number of ranks to take.
func parse(raw []byte, limit int) (*ranks, error) {
	if len(raw) < 4 {
		return nil, errVocab
	}
	n := int(binary.LittleEndian.Uint32(raw))
	raw = raw[4:]
	if n > len(raw) {
		return nil, errVocab
	}
	lengths, text := raw[:n], raw[n:]
	if limit >= 0 && limit < n {
		lengths = lengths[:limit]
	}
	return newRanks(lengths, text)
}
