package token

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// longOnly leaves a test of much text out of the short run: that is for the race detector, and one goroutine cannot race.
func longOnly(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("not in the short run")
	}
}

// bounds gives all places where a text may be cut.
func bounds(text string) []int {
	var at []int
	for i := range text {
		at = append(at, i)
	}
	return append(at, len(text))
}

// longestPrefix tries all cuts.
func longestPrefix(e *Encoding, text string, limit int) (n, tokens int) {
	at := bounds(text)
	for i := len(at) - 1; i >= 0; i-- {
		if tokens := e.Count(text[:at[i]]); tokens <= limit {
			return at[i], tokens
		}
	}
	return 0, 0
}

func longestSuffix(e *Encoding, text string, limit int) (n, tokens int) {
	for _, at := range bounds(text) {
		if tokens := e.Count(text[at:]); tokens <= limit {
			return len(text) - at, tokens
		}
	}
	return 0, 0
}

func TestCutIsTheLongest(t *testing.T) {
	longOnly(t)
	var texts []string
	for _, e := range edges(1200) {
		if len(e.unit)*e.times <= maxTry {
			texts = append(texts, strings.Repeat(e.unit, e.times))
		}
	}
	texts = append(texts, "   1", "a"+strings.Repeat(" ", 83)+"x", strings.Repeat("\u00a0", 8)+"x", "\u2003\u3000\u3000\u30001", "\n\n   \n\u3000\u3000x", "bad \xff\xe6\x97 bytes\xc3", strings.Repeat("12345678 ", 9))
	for _, name := range Names() {
		e := open(t, name)
		for _, text := range texts {
			for limit := -1; limit <= e.Count(text)+1; limit++ {
				checkCut(t, e, text, limit)
			}
		}
	}
}

func checkCut(t *testing.T, e *Encoding, text string, limit int) {
	t.Helper()
	n, tokens := e.Prefix(text, limit)
	if wantN, want := longestPrefix(e, text, limit); n != wantN || tokens != want {
		t.Errorf("%s: Prefix(%+q, %d) = %d, %d, want %d, %d", e.Name(), text, limit, n, tokens, wantN, want)
	}
	n, tokens = e.Suffix(text, limit)
	if wantN, want := longestSuffix(e, text, limit); n != wantN || tokens != want {
		t.Errorf("%s: Suffix(%+q, %d) = %d, %d, want %d, %d", e.Name(), text, limit, n, tokens, wantN, want)
	}
}

// TestCutLong has pieces and runs longer than what is tried place by place: a cut is exact in its count, and at most
// few tokens short.
func TestCutLong(t *testing.T) {
	longOnly(t)
	for _, name := range Names() {
		e := open(t, name)
		for _, unit := range []string{"x", "=", " ", " \n", "\u597d", "\u597dA", "\u0e44\u0e17\u0e22", "\U0001f600", "7", "ab", "{\"a\":[1,", "\u0301", "\xff"} {
			text := "Start " + strings.Repeat(unit, 1500/len(unit)) + "End."
			total := e.Count(text)
			for limit := 0; limit <= total; limit += 1 + total/23 {
				n, tokens := e.Prefix(text, limit)
				within(t, e, text[:n], tokens, limit)
				n, tokens = e.Suffix(text, limit)
				within(t, e, text[len(text)-n:], tokens, limit)
			}
		}
	}
}

func within(t *testing.T, e *Encoding, part string, tokens, limit int) {
	t.Helper()
	const slack = 3
	if got := e.Count(part); got != tokens || tokens > limit || tokens < limit-slack {
		t.Errorf("%s: a cut of %d bytes for %d tokens has %d tokens, said to be %d", e.Name(), len(part), limit, got, tokens)
	}
}

func TestCutSessions(t *testing.T) {
	longOnly(t)
	files, names := sessions(t)
	e := open(t, Default)
	for _, name := range names {
		for _, l := range sample(name, files[name], 6, 11) {
			text, _ := l.text(t, files)
			limit := e.Count(text) * (l.off % 7) / 7
			if len(text) <= 1024 {
				if utf8.ValidString(text) {
					checkCutOf(t, e, l, text, limit)
				}
				continue
			}
			n, tokens := e.Prefix(text, limit)
			within(t, e, text[:n], tokens, limit)
			n, tokens = e.Suffix(text, limit)
			within(t, e, text[len(text)-n:], tokens, limit)
		}
	}
}

// checkCutOf is checkCut without the text in its messages.
func checkCutOf(t *testing.T, e *Encoding, l locator, text string, limit int) {
	t.Helper()
	n, _ := e.Prefix(text, limit)
	if want, _ := longestPrefix(e, text, limit); n != want {
		t.Errorf("%v: Prefix to %d tokens has %d bytes, want %d", l, limit, n, want)
	}
	n, _ = e.Suffix(text, limit)
	if want, _ := longestSuffix(e, text, limit); n != want {
		t.Errorf("%v: Suffix to %d tokens has %d bytes, want %d", l, limit, n, want)
	}
}

// TestBreaks walks the pieces from all places: none may step over a break.
func TestBreaks(t *testing.T) {
	found := 0
	for _, name := range Names() {
		e := open(t, name)
		for _, edge := range edges(2000) {
			b := []byte(strings.Repeat(edge.unit, min(edge.times, 40)))
			for _, from := range bounds(string(b)) {
				for i := from; i < len(b); {
					end := e.next(e.classes, b, i)
					for at := i + 1; at < end; at++ {
						if e.breaks(b, at) {
							t.Fatalf("%s: %+q from %d: a piece from %d to %d", name, b, from, i, end)
						}
					}
					if i = end; i < len(b) && e.breaks(b, i) {
						found++
						break
					}
				}
			}
		}
	}
	if found == 0 {
		t.Error("no breaks")
	}
}
