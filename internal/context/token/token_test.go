package token

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

func open(tb testing.TB, name string) *Encoding {
	tb.Helper()
	e, err := New(name)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func TestCount(t *testing.T) {
	e := open(t, Default)
	for text, want := range map[string]int{
		"":                  0,
		"hello world":       2,
		"<|endoftext|>":     7, // plain text, not the special token
		"\xff":              1, // U+FFFD is a token
		"\xff\xfe":          1, // and so are two of them
		"a\xe6\x97":         2, // each byte of a character cut short is one
		" \n \n\n  x":       4,
		"DON'T don\u2019t'": 5,
	} {
		if got := e.Count(text); got != want {
			t.Errorf("Count(%+q) = %d, want %d", text, got, want)
		}
	}
	if e.Name() != Default || Names()[0] != Default {
		t.Errorf("%s is not the default", e.Name())
	}
}

// TestCountAllocatesNothing has pieces of all lengths; the room for them is there after the first count, but for the
// race detector, which makes a pool forget.
func TestCountAllocatesNothing(t *testing.T) {
	longOnly(t)
	for _, name := range Names() {
		e := open(t, name)
		for _, text := range []string{
			"", "word", strings.Repeat("func (e *Encoding) Name() string { return e.name } // \u65e5\u672c ============\n", 50),
			strings.Repeat("x", 5000), strings.Repeat("\u597dA", 5000), strings.Repeat(" \n", 5000),
		} {
			b := []byte(text)
			if n := testing.AllocsPerRun(100, func() { e.Count(text); e.CountBytes(b) }); n != 0 {
				t.Errorf("%s: %.20q: %v allocations", name, text, n)
			}
		}
	}
}

// TestCountIsItsParts joins texts where a piece begins whatever is before: there counts add up, and nothing that was
// counted before changes one.
func TestCountIsItsParts(t *testing.T) {
	longOnly(t)
	rng := rand.New(rand.NewPCG(7, 8))
	for _, name := range Names() {
		e, added := open(t, name), 0
		for _, alphabet := range nasty() {
			for range 300 {
				text := randomOf(rng, alphabet, 2+rng.IntN(40))
				total := e.Count(text)
				if fresh := (call{e, new(room)}).count([]byte(text)); fresh != total || total > len(text) {
					t.Fatalf("%s: %+q: %d tokens, and %d in a new room", name, text, total, fresh)
				}
				for _, at := range bounds(text) {
					if at == len(text) || !e.breaks([]byte(text), at) {
						continue
					}
					added++
					if a, b := e.Count(text[:at]), e.Count(text[at:]); a+b != total {
						t.Errorf("%s: %+q: %d tokens, %d and %d when cut at %d", name, text, total, a, b, at)
					}
				}
			}
		}
		if added == 0 {
			t.Errorf("%s: no text was cut", name)
		}
	}
}

// TestCountTogether is for the race detector: long pieces share the room to merge them.
func TestCountTogether(t *testing.T) {
	e := open(t, Default)
	text := strings.Repeat("=", 1000) + " and " + strings.Repeat("xyz", 500)
	want := e.Count(text)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				if got := e.Count(text); got != want {
					t.Errorf("%d tokens, want %d", got, want)
				}
			}
		})
	}
	all.Wait()
}

// FuzzCount checks what must hold for any bytes and any limit.
func FuzzCount(f *testing.F) {
	var encodings []*Encoding
	for _, name := range Names() {
		encodings = append(encodings, open(f, name))
	}
	f.Add([]byte("it's  \n\n  \tFooBar's DON'T 12345 \u0301a\u4e00AB!/\r\n/"), 5)
	f.Add([]byte("\xff\xfe\xe6\x97 \xf0\x9f\x98 <|endoftext|>\x00"), 3)
	f.Add([]byte(strings.Repeat("\u3000", 90)+"x"), 4)
	f.Add([]byte(strings.Repeat("\u597dA", 200)), 100)
	f.Fuzz(func(t *testing.T, b []byte, limit int) {
		text := string(b)
		for _, e := range encodings {
			total := e.Count(text)
			if got := e.Count(string([]rune(text))); got != total || e.CountBytes(b) != total {
				t.Errorf("%s: %d tokens as it is, %d with U+FFFD, %d as bytes", e.Name(), total, got, e.CountBytes(b))
			}
			n, tokens := e.Prefix(text, limit)
			checkPart(t, e, text[:n], tokens, limit)
			n, tokens = e.Suffix(text, limit)
			checkPart(t, e, text[len(text)-n:], tokens, limit)
			if n, _ := e.Prefix(text, total); n != len(text) {
				t.Errorf("%s: Prefix to all %d tokens has %d bytes of %d", e.Name(), total, n, len(text))
			}
		}
	})
}

func checkPart(t *testing.T, e *Encoding, part string, tokens, limit int) {
	t.Helper()
	if got := e.Count(part); got != tokens || tokens > max(limit, 0) {
		t.Errorf("%s: %q has %d tokens, said to be %d of %d", e.Name(), part, got, tokens, limit)
	}
}
