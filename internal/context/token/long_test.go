package token

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
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
	longOnly(t)
	for _, name := range Names() {
		r, s := open(t, name).ranks, new(room)
		for unit, text := range worst() {
			b := []byte(repeatTo(text, 5000))
			for _, n := range []int{2, windowSize - 1, windowSize, windowSize + 1, windowSize + progress, 1000, len(b)} {
				got, want := s.long(r, b[:n], true), s.whole(r, b[:n], true)
				if got.n != want.n || !slices.Equal(got.ends, want.ends) {
					t.Errorf("%s: %+q, %d bytes: %d tokens by windows, %d by the heap", name, unit, n, got.n, want.n)
				}
			}
		}
	}
}

// TestStepsAreLinear counts what long pieces cost in steps, which no load of the machine changes: merges in windows,
// and what leaves the heap. A byte of a long text costs what one of a short text does, and none needs the heap.
func TestStepsAreLinear(t *testing.T) {
	longOnly(t)
	const short, long = 1 << 14, 1 << 18
	const most = float64(windowSize) / progress
	for _, name := range Names() {
		e := open(t, name)
		for unit, text := range worst() {
			few, whole := steps(e, repeatTo(text, short))
			many, _ := steps(e, repeatTo(text, long))
			if whole {
				t.Errorf("%s: %+q: the heap was needed", name, unit)
			}
			if many > most || many > 1.05*few+0.01 {
				t.Errorf("%s: %+q: %.3f steps a byte in %d bytes, %.3f in %d", name, unit, few, short, many, long)
			}
		}
	}
}

// steps gives the steps a byte, and whether a piece of at most keepHeap bytes was merged as a whole.
func steps(e *Encoding, text string) (perByte float64, whole bool) {
	b := []byte(text)
	if !utf8.Valid(b) {
		b = repair(b)
	}
	c := call{e, new(room)}
	c.count(b)
	return float64(c.work) / float64(len(b)), c.heap.next != nil
}

// TestHeapIsLinear does so for the heap, of which each step is log n.
func TestHeapIsLinear(t *testing.T) {
	longOnly(t)
	r, h := open(t, Default).ranks, new(heap)
	for unit, text := range worst() {
		for _, n := range []int{1 << 13, 1 << 16} {
			if got := h.merge(r, []byte(repeatTo(text, n))); got > 3*n {
				t.Errorf("%+q: %d steps for %d bytes", unit, got, n)
			}
		}
	}
}

// TestWindowsThatDoNotMeet has the tokens of a window that is made up: the next one has none of them, and says so.
func TestWindowsThatDoNotMeet(t *testing.T) {
	r, w := open(t, Default).ranks, new(window)
	w.merge(r, []byte("the same words again"))
	for _, starts := range [][]int{{100, 101, 102, 120}, {100, 120}} {
		w.starts = starts
		if at, ok := w.meet(100, new(tokens)); ok {
			t.Errorf("%v: met at %d", starts, at)
		}
	}
	w.starts = []int{100, 101, 103, 108, 120}
	var seen tokens
	if at, ok := w.meet(100, &seen); !ok || at != 3 || seen.n != 2 {
		t.Errorf("met at %d after %d tokens: %v", at, seen.n, ok)
	}
}
