// Command gen packs the vocabularies of github.com/pkoukk/tiktoken-go-loader (MIT) for package token.
// Run it by `go generate` in the directory of package token; it needs only the module cache.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/pkoukk/tiktoken-go-loader/assets"
)

// r50k_base needs no file: it is the start of p50k_base.
const (
	r50kSize = 50256
	outDir   = "data"
)

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	var p50k [][]byte
	for _, name := range []string{"o200k_base", "cl100k_base", "p50k_base"} {
		vocab, err := read(name)
		if err != nil {
			return err
		}
		if err := write(name, vocab); err != nil {
			return err
		}
		p50k = vocab
	}
	return checkR50k(p50k)
}

// read gives the tokens of one vocabulary by rank; a rank that no token has is left nil.
func read(name string) ([][]byte, error) {
	text, err := assets.Assets.ReadFile(name + ".tiktoken")
	if err != nil {
		return nil, err
	}
	var vocab [][]byte
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var word string
		var rank int
		if _, err := fmt.Sscan(lines.Text(), &word, &rank); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", name, lines.Text(), err)
		}
		token, err := base64.StdEncoding.DecodeString(word)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", name, word, err)
		}
		if rank < len(vocab) || rank > 1<<20 || len(token) == 0 || len(token) > 255 {
			return nil, fmt.Errorf("%s: rank %d, %d bytes: out of order or too long", name, rank, len(token))
		}
		vocab = append(vocab, make([][]byte, rank-len(vocab))...)
		vocab = append(vocab, token)
	}
	return vocab, lines.Err()
}

// write stores the number of ranks (uint32, little endian), one byte of length for each, then all their bytes.
func write(name string, vocab [][]byte) error {
	raw := binary.LittleEndian.AppendUint32(nil, uint32(len(vocab)))
	for _, token := range vocab {
		raw = append(raw, byte(len(token)))
	}
	raw = append(raw, bytes.Join(vocab, nil)...)
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	defer enc.Close()
	packed := enc.EncodeAll(raw, nil)
	log.Printf("%s: %d ranks, %d bytes packed", name, len(vocab), len(packed))
	return os.WriteFile(filepath.Join(outDir, name+".vocab.zst"), packed, 0o644)
}

func checkR50k(p50k [][]byte) error {
	r50k, err := read("r50k_base")
	if err != nil {
		return err
	}
	if len(r50k) != r50kSize {
		return fmt.Errorf("r50k_base has %d ranks, not %d", len(r50k), r50kSize)
	}
	for rank, token := range r50k {
		if !bytes.Equal(token, p50k[rank]) {
			return fmt.Errorf("r50k_base and p50k_base differ at rank %d: %s", rank, strings.ToValidUTF8(string(token), "?"))
		}
	}
	return nil
}
