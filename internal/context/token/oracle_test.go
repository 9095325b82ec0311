package token

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
)

// oracle gives the other implementation of each encoding. Its loader is a global of that package.
func oracle(tb testing.TB, name string) func(text string) int {
	tb.Helper()
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	other, err := tiktoken.GetEncoding(name)
	if err != nil {
		tb.Fatal(err)
	}
	return func(text string) int { return len(other.EncodeOrdinary(text)) }
}

// oracleKnows tells whether the other implementation is right about text: its regular-expression engine has Go's
// Unicode tables, and does not fold U+017F. The golden counts have such texts.
func oracleKnows(e *Encoding, text string) bool {
	for _, r := range text {
		if k, _ := e.classes.at(utf8.AppendRune(nil, r), 0); k != goClass(r) {
			return false
		}
	}
	return !strings.Contains(text, "'\u017f")
}

// FuzzAgainstOracle compares with an independent implementation, which uses a regular-expression engine.
func FuzzAgainstOracle(f *testing.F) {
	type pair struct {
		own   *Encoding
		other func(string) int
	}
	var pairs []pair
	for _, name := range Names() {
		pairs = append(pairs, pair{open(f, name), oracle(f, name)})
	}
	for _, e := range edges(800) {
		f.Add(strings.Repeat(e.unit, min(e.times, 40)))
	}
	for _, unit := range []string{"x", " ", "=", "\u597dA", "\u0301"} {
		f.Add(strings.Repeat(unit, windowSize+200)) // more than a window
	}
	f.Add("it's  \n\n  \tFooBar's DON'T 12345 \u0301a\u4e00AB!/\r\n/")
	f.Fuzz(func(t *testing.T, text string) {
		if !oracleKnows(pairs[0].own, text) {
			return
		}
		for _, p := range pairs {
			if got, want := p.own.Count(text), p.other(text); got != want {
				t.Errorf("%s: %q: got %d, want %d", p.own.Name(), text, got, want)
			}
		}
	})
}

// nasty are alphabets in which neighbours change each other's pieces and tokens.
func nasty() [][]string {
	return [][]string{
		{" ", "\n", "\r", "\t", "\u00a0", "\u3000", "a", "1"},
		{"a", "A", "'", "s", "S", "ll", "RE", "ve", "d"},
		{"\u597d", "A", "a", "\u0301", "\u02b0", "\u01c5", "'s"},
		{"=", "-", "/", "\n", " ", "_", "\u0301"},
		{"0", "9", "\u0663", "\u00bd", ".", ",", "-", " "},
		{"a", "b", "ab", "aa", "x"},
		{"\U0001f600", "\u200d", "\ufe0f", "\U0001f469", "\U0001f3fd", " "},
		{"<|endoftext|>", "<|endofprompt|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|", "|>", " ", "x"},
	}
}

func randomOf(rng *rand.Rand, alphabet []string, n int) string {
	var text strings.Builder
	for range n {
		text.WriteString(alphabet[rng.IntN(len(alphabet))])
	}
	return text.String()
}

// TestOracleRandom compares random texts, of which some have pieces longer than a window.
func TestOracleRandom(t *testing.T) {
	longOnly(t)
	for _, name := range Names() {
		e, other, rng := open(t, name), oracle(t, name), rand.New(rand.NewPCG(9, 10))
		for _, alphabet := range nasty() {
			for i := range 150 {
				text := randomOf(rng, alphabet, 1+rng.IntN(24))
				if i%50 == 0 {
					text = randomOf(rng, alphabet, 2*windowSize)
				}
				if got, want := e.Count(text), other(text); got != want {
					t.Errorf("%s: %+q: %d tokens, want %d", name, text, got, want)
				}
			}
		}
	}
}

// TestOracleSessions compares real texts, of other places than the golden ones; the other way is slow.
func TestOracleSessions(t *testing.T) {
	longOnly(t)
	const most = 4096
	files, names := sessions(t)
	for _, encoding := range Names()[:2] {
		e, other := open(t, encoding), oracle(t, encoding)
		total := 0
		for _, name := range names {
			for _, l := range sample(name, files[name], 8, 23) {
				text, _ := l.text(t, files)
				text = text[:min(len(text), most)]
				if got, want := e.Count(text), other(text); got != want {
					t.Errorf("%s: %v: %d tokens, want %d", encoding, l, got, want)
				}
				total += len(text)
			}
		}
		t.Logf("%s: %d bytes compared", encoding, total)
	}
}
