package token

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestMerges compares the three ways to merge on the same pieces.
func TestMerges(t *testing.T) {
	r := open(t, Default).ranks
	const alphabet = " aaeelnst\xe6\x97\xa5x="
	rng := rand.New(rand.NewPCG(3, 4))
	room := new(room)
	for range 20_000 {
		b := randomText(rng, alphabet, 2+rng.IntN(maxScan-1))
		scan, window, heap := r.scan(b, 0, len(b)), len(b)-room.window.merge(r, b), room.whole(r, b, false).n
		if scan != heap || scan != window {
			t.Fatalf("%q: %d parts by looking through, %d by blocks, %d by the heap", b, scan, window, heap)
		}
	}
}

func randomText(rng *rand.Rand, alphabet string, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[rng.IntN(len(alphabet))]
	}
	return b
}

// worst are units that make one long piece, or pieces without end, when repeated.
func worst() map[string]string {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	rng := rand.New(rand.NewPCG(5, 6))
	units := map[string]string{
		"letters": string(randomText(rng, letters, 1<<17)),
		"Letters": string(randomText(rng, letters+strings.ToUpper(letters), 1<<17)),
		"common":  string(randomText(rng, "etaoin", 1<<17)),
		"two":     string(randomText(rng, "ab", 1<<17)),
		"symbols": string(randomText(rng, "!\"#$%&()*+,-.:;<=>?@[]^_`{|}~", 1<<17)),
		"blanks":  string(randomText(rng, " \t\n\r", 1<<17)),
		"digits":  string(randomText(rng, "0123456789", 1<<17)),
		"dashes":  string(randomText(rng, "-=_", 1<<17)),
		"chinese": randomRunes(rng, 0x4e00, 0x9fff),
		"hangul":  randomRunes(rng, 0xac00, 0xd7a3),
		"emoji":   randomRunes(rng, 0x1f300, 0x1f64f),
		"marks":   randomRunes(rng, 0x300, 0x36f),
		"bytes":   string(randomText(rng, "\x80\xa0\xc3\xe4\xf0\xff", 1<<17)),
	}
	for _, unit := range []string{
		"x", "ab", "A", "7", "=", "- ", "/", ".", "'s", "'", " ", "\t", "\n", " \n", "\n ", "\r\n", "\n    ", "        \n", "\u00a0", "\u3000",
		"\u597d", "\u597dA", "A\u597d", "\u65e5\u672c", "\u0301", "a\u0301", "\U0001f600", "\U0001f469\u200d\U0001f4bb", "\u0e44\u0e17\u0e22", "\ud55c", "\xff", "\x00",
	} {
		units[unit] = unit
	}
	return units
}

func randomRunes(rng *rand.Rand, first, last rune) string {
	var text strings.Builder
	for range 1 << 15 {
		text.WriteRune(first + rng.Int32N(last-first+1))
	}
	return text.String()
}

// repeatTo repeats a unit to about n bytes.
func repeatTo(unit string, n int) string { return strings.Repeat(unit, 1+n/len(unit))[:n] }

// TestLongIsWhole compares the windows with the heap, end by end.
func TestLongIsWhole(t *testing.T) {
	for _, name := range Names() {
		r, s := open(t, name).ranks, new(room)
		for unit, text := range worst() {
			b := []byte(repeatTo(text, 20_000))
			for _, n := range []int{2, windowSize - 1, windowSize, windowSize + 1, windowSize + progress, 1000, len(b)} {
				got, want := s.long(r, b[:n], true), s.whole(r, b[:n], true)
				if got.n != want.n || !slices.Equal(got.ends, want.ends) {
					t.Errorf("%s: %+q, %d bytes: %d tokens by windows, %d by the heap", name, unit, n, got.n, want.n)
				}
			}
		}
	}
}
