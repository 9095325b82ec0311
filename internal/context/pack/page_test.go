package pack

import (
	"math/rand"
	"strings"
	"testing"

	"ctxfs/internal/context/token"
)

// splitParts are what line ends stand between: all that the patterns of the encodings tell apart, blanks that are none to
// some, and bytes that are no text.
func splitParts() []string {
	return []string{"\n", "\n", "\n", "\n", "\r", " ", "  ", "\t", "/", "//", "a", "word", "Word", "WORD", "'", "'s", "1", "1234", "[", "````", "## ", "{}", ";", "é", "ǅ", "漢", "。",
		"\u0301", "\u00a0", "\u0085", "\u3000", "\u2028", "\ufeff", "\u200b", "\u00ad", "٣", "😀", "\x00", "\x7f", "\xff", "\xe3\x80"}
}

func encodings(t testing.TB) []*token.Encoding {
	t.Helper()
	var out []*token.Encoding
	for _, name := range token.Names() {
		e, err := token.New(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// TestSplits checks that the pages' counts may be added up: for each place that splits says, in texts of all kinds of neighbours.
func TestSplits(t *testing.T) {
	rnd, parts, list := rand.New(rand.NewSource(1)), splitParts(), encodings(t)
	places := 0
	for range 150_000 {
		var b strings.Builder
		for range 2 + rnd.Intn(10) {
			b.WriteString(parts[rnd.Intn(len(parts))])
		}
		places += checkSplits(t, list, []byte(b.String()))
	}
	if places < 50_000 {
		t.Errorf("only %d places were checked", places)
	}
}

// checkSplits gives how many places of text split.
func checkSplits(t *testing.T, list []*token.Encoding, text []byte) (places int) {
	t.Helper()
	for at := range len(text) {
		for _, e := range list {
			if !splits(text, at, splitsAtLineEnds(e.Name())) {
				continue
			}
			places++
			if whole, a, b := e.CountBytes(text), e.CountBytes(text[:at]), e.CountBytes(text[at:]); whole != a+b {
				t.Errorf("%s: %q counts %d, its parts %q and %q count %d and %d", e.Name(), text, whole, text[:at], text[at:], a, b)
			}
		}
	}
	return places
}

func FuzzSplits(f *testing.F) {
	list := encodings(f)
	f.Add("done.\n[12 user]\n  x\n\n# y\n")
	f.Add("漢。\n````\n")
	f.Fuzz(func(t *testing.T, text string) { checkSplits(t, list, []byte(text[:min(len(text), 2000)])) })
}
