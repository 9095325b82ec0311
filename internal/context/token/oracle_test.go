package token

import (
	"testing"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
)

// oracles gives the other implementation of each encoding. Its loader is a global of that package.
func oracle(tb testing.TB, name string) func(text string) int {
	tb.Helper()
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	other, err := tiktoken.GetEncoding(name)
	if err != nil {
		tb.Fatal(err)
	}
	return func(text string) int { return len(other.EncodeOrdinary(text)) }
}

func open(tb testing.TB, name string) *Encoding {
	tb.Helper()
	e, err := New(name)
	if err != nil {
		tb.Fatal(err)
	}
	return e
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
	f.Add("it's  \n\n  \tFooBar's DON'T 12345 \u0301a\u4e00AB!/\r\n/")
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range pairs {
			if got, want := p.own.Count(text), p.other(text); got != want {
				t.Errorf("%s: %q: got %d, want %d", p.own.Name(), text, got, want)
			}
		}
	})
}
