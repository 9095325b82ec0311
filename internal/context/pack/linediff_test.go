package pack

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
)

// patched applies what writeHunks wrote to the older text, by its line numbers.
func patched(old []string, diff string) ([]string, error) {
	var out []string
	at := 0
	lines := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	for i := 0; i < len(lines) && diff != ""; {
		var a, removed, b, added int
		if _, err := fmt.Sscanf(lines[i], "@@ -%d,%d +%d,%d @@", &a, &removed, &b, &added); err != nil {
			return nil, fmt.Errorf("line %d, %q: %w", i+1, lines[i], err)
		}
		if a-1 < at || a-1+removed > len(old) {
			return nil, fmt.Errorf("lines %d to %d of %d, after line %d", a, a+removed-1, len(old), at)
		}
		out = append(out, old[at:a-1]...)
		if len(out) != b-1 {
			return nil, fmt.Errorf("a hunk for line %d stands at line %d", b, len(out)+1)
		}
		at = a - 1 + removed
		for i++; i < len(lines) && strings.HasPrefix(lines[i], "-"); i++ {
		}
		for ; i < len(lines) && strings.HasPrefix(lines[i], "+"); i++ {
			out = append(out, lines[i][1:])
			added--
		}
		if added != 0 {
			return nil, fmt.Errorf("%d added lines are missing", added)
		}
	}
	return append(out, old[at:]...), nil
}

func differ(t testing.TB, old, now []string) (hunks []hunk) {
	t.Helper()
	hunks, ok := diffLines(old, now)
	if !ok {
		return nil
	}
	var out strings.Builder
	writeHunks(&out, hunks, old, now)
	got, err := patched(old, out.String())
	if err != nil || !slices.Equal(got, now) {
		t.Fatalf("%q to %q by %v\n%s\ngives %q, %v", old, now, hunks, out.String(), got, err)
	}
	return hunks
}

func TestDiffLines(t *testing.T) {
	for _, c := range []struct {
		old, now string
		want     string
	}{
		{"a b c", "a b c", "[]"},
		{"a b c", "a x c", "[{1 1 1 1}]"},
		{"a b c", "a c", "[{1 1 1 0}]"},
		{"a c", "a b c", "[{1 0 1 1}]"},
		{"a b c d e f", "x b c d e y", "[{0 1 0 1} {5 1 5 1}]"},
		{"a", "b c", "[{0 1 0 2}]"},
	} {
		if got := fmt.Sprint(differ(t, strings.Fields(c.old), strings.Fields(c.now))); got != c.want {
			t.Errorf("%s to %s: %s, want %s", c.old, c.now, got, c.want)
		}
	}
}

func TestDiffLinesOfRandomTexts(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	done := 0
	for range 3000 {
		old := randomLines(rnd, rnd.Intn(60), 2+rnd.Intn(20))
		now := slices.Clone(old)
		if rnd.Intn(3) == 0 {
			now = randomLines(rnd, rnd.Intn(60), 2+rnd.Intn(20))
		}
		for range rnd.Intn(6) {
			at := rnd.Intn(len(now) + 1)
			now = slices.Concat(now[:at], randomLines(rnd, rnd.Intn(10), 9), now[min(at+rnd.Intn(5), len(now)):])
		}
		if len(differ(t, old, now)) > 0 {
			done++
		}
	}
	if done < 2000 {
		t.Errorf("only %d differences", done)
	}
	if _, ok := diffLines(randomLines(rnd, 500, 1<<30), randomLines(rnd, 500, 1<<30)); ok {
		t.Error("a difference of 1,000 lines is within the bound")
	}
}

func randomLines(rnd *rand.Rand, n, words int) []string {
	var out []string
	for range n {
		out = append(out, fmt.Sprint("line ", rnd.Intn(words)))
	}
	return out
}
