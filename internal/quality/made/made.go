// Package made makes logs of any length for measurements: talk and tool rounds over a vocabulary that grows as text's does,
// the same bytes each time. It knows no other package.
package made

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
)

// Maker writes one made log, record by record.
type Maker struct {
	rnd  *rand.Rand
	zipf *rand.Zipf
	n, i int
}

// New starts a log that will be about n records long: the number of different files that it reads follows n.
func New(n int) *Maker {
	rnd := rand.New(rand.NewSource(1))
	return &Maker{rnd: rnd, zipf: rand.NewZipf(rnd, 1.1, 4, 200_000), n: n}
}

// Log gives the first n records of a made log of n records, about 0.8 KB each.
func Log(n int) []byte {
	var out []byte
	m := New(n)
	for range n {
		out = append(out, m.Next()...)
	}
	return out
}

type object = map[string]any

// Next gives the next record, with its '\n'.
func (m *Maker) Next() []byte {
	var r object
	switch i := m.i; i % 8 {
	case 0:
		r = object{"role": "user", "content": m.words(130)}
	case 1, 3, 5:
		args, _ := json.Marshal(map[string]string{"file_path": fmt.Sprintf("/src/f%d.go", m.rnd.Intn(m.n/20+5)), "note": m.words(120)}) // strings marshal
		call := object{"id": fmt.Sprintf("call_%d", i), "function": object{"name": "read", "arguments": string(args)}}
		r = object{"role": "assistant", "tool_calls": []object{call}}
	case 2, 4, 6:
		r = object{"role": "tool", "tool_call_id": fmt.Sprintf("call_%d", i-1), "content": m.words(140)}
	default:
		r = object{"role": "assistant", "content": m.words(130)}
	}
	m.i++
	line, _ := json.Marshal(r) // strings marshal
	return append(line, '\n')
}

func (m *Maker) words(k int) string {
	var b strings.Builder
	for range k {
		b.WriteString("w" + letters(m.zipf.Uint64()) + " ")
	}
	return b.String()
}

// letters writes a number as a word.
func letters(n uint64) string {
	b := []byte{byte('a' + n%26)}
	for n /= 26; n > 0; n /= 26 {
		b = append(b, byte('a'+n%26), 'o')
	}
	return string(b)
}
