package token

import (
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

// Pieces of more than maxScan bytes use room from a pool, which may be empty.
func TestCountAllocatesNothing(t *testing.T) {
	e := open(t, Default)
	text := strings.Repeat("func (e *Encoding) Name() string { return e.name } // \u65e5\u672c ============\n", 50)
	if n := testing.AllocsPerRun(100, func() { e.Count(text) }); n != 0 {
		t.Errorf("%v allocations", n)
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
