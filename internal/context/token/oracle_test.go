package token

import (
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
