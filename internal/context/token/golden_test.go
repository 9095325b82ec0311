package token

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "ask the reference (node, NODE_PATH with tiktoken@1.0.22) for new golden counts")

// A golden file has a line for each text: what names it, then its counts in the order of Names.
const (
	goldenSessions = "testdata/sessions.tsv" // named by a locator: no text of theirs is here
	goldenEdges    = "testdata/edges.tsv"    // named by the text: how often, and a quoted string
)

func TestGoldenSessions(t *testing.T) {
	files, names := sessions(t)
	if *update {
		var keys, texts []string
		for _, name := range names {
			for _, l := range sample(name, files[name], 32, 7) {
				if text, _ := l.text(t, files); utf8.ValidString(text) {
					keys, texts = append(keys, l.String()), append(texts, text)
				}
			}
		}
		writeGolden(t, goldenSessions, keys, texts)
	}
	missing := 0
	compared := compare(t, goldenSessions, func(key string) (string, bool) {
		l, err := parseLocator(key)
		if err != nil {
			t.Fatal(err)
		}
		text, ok := l.text(t, files)
		if !ok {
			missing++
		}
		return text, ok
	})
	t.Logf("%d texts compared, %d whose session is not here", compared, missing)
	if compared == 0 {
		t.Error("no text was compared")
	}
}

func TestGoldenEdges(t *testing.T) {
	if *update {
		var keys, texts []string
		for _, e := range edges(4000) {
			keys = append(keys, fmt.Sprintf("%d %+q", e.times, e.unit))
			texts = append(texts, strings.Repeat(e.unit, e.times))
		}
		writeGolden(t, goldenEdges, keys, texts)
	}
	compare(t, goldenEdges, func(key string) (string, bool) {
		var e edge
		if _, err := fmt.Sscanf(key, "%d %q", &e.times, &e.unit); err != nil {
			t.Fatal(err)
		}
		return strings.Repeat(e.unit, e.times), true
	})
}

// compare checks the counts of a golden file and gives the number of texts that text knew.
func compare(t *testing.T, golden string, text func(key string) (string, bool)) (compared int) {
	t.Helper()
	b, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var encodings []*Encoding
	for _, name := range Names() {
		encodings = append(encodings, open(t, name))
	}
	for line := range strings.Lines(string(b)) {
		key, want, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		s, ok := text(key)
		if !ok {
			continue
		}
		compared++
		var got []string
		for _, e := range encodings {
			got = append(got, strconv.Itoa(e.Count(s)))
		}
		if got := strings.Join(got, "\t"); got != want {
			t.Errorf("%s: got %s, want %s", key, got, want)
		}
	}
	return compared
}

func writeGolden(t *testing.T, golden string, keys, texts []string) {
	t.Helper()
	in, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	node := exec.Command("node", append([]string{"testdata/reference.cjs"}, Names()...)...)
	node.Stdin, node.Stderr = bytes.NewReader(in), os.Stderr
	counts, err := node.Output()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	i := 0
	for line := range strings.Lines(string(counts)) {
		fmt.Fprintf(&out, "%s\t%s", keys[i], line)
		i++
	}
	if i != len(keys) {
		t.Fatalf("%d counts for %d texts", i, len(keys))
	}
	if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// edge is a text made for the test: a unit, some times over.
type edge struct {
	times int
	unit  string
}

// edges puts side by side what the patterns treat in different ways.
func edges(n int) []edge {
	parts := []string{
		" ", " ", "  ", "     ", "\n", "\n", "\r\n", "\r", "\t", "\v\f", "\u0085", "\u00a0", "\u1680", "\u2003", "\u2028", "\u3000",
		"'s", "'S", "'\u017f", "'t", "'RE", "'rE", "'ll", "'lL", "'L", "'v", "'ve", "'m", "'D", "'", "''", "\u2019s",
		"a", "b", "Z", "the", "Word", "HTTPServer", "camelCase", "x", "I", "xxxxxxxxxxxxxxxxxxxx", "don", "we",
		"\u01c5", "\u02b0", "\u00aa", "\u00df", "\u0130", "\u017f", "\u212a", "\u65e5", "\u672c\u8a9e", "\ud55c\uad6d\uc5b4", "\u3072\u3089\u30ab\u30ca\u30fc", "\u0e44\u0e17\u0e22", "\u0928\u092e\u0938\u094d\u0924\u0947", "\u0645\u0631\u062d\u0628\u0627", "\u05e9\u05dc\u05d5\u05dd", "\u041f\u0440\u0438\u0432\u0435\u0442", "\u0393\u03b5\u03b9\u03ac",
		"e\u0301", "\u0301", "\u0301\u0308", "\u20e3", "\ufe0f", "\u200d", "\u200b", "\u00ad", "\ufeff",
		"1", "12", "1234567", "\u0663", "\u2167", "\u00bd", "\u00b2", "\U0001d7d8",
		"!", "?!", "...", "/", "//", "/\n/", "-", "_", "===", "{", "}", "\"", "\\n", "<|endoftext|>", "<|fim_prefix|>", "#", "```",
		"\U0001f600", "\U0001f469\u200d\U0001f4bb", "\U0001f1eb\U0001f1f7", "\u2764\ufe0f", "\u20ac", "\u00e9", "\u00f1",
		"\u1c89", "\u1c8a", "\ua7cb", "\ua7da", "\U00010d50", "\U00010d70", "\U00010d40", "\U0002ebf0", "\U000105c0", "\U0001e5d0", "\u0897", "\U00016ea0", "\ua7d2",
		"\ufffd", "\ue000", "\U0010ffff", "\u0378", "\x00", "\x7f", "\u0080",
	}
	rng := rand.New(rand.NewPCG(1, 2))
	all := []edge{{1, ""}}
	for _, part := range parts {
		all = append(all, edge{1, part}, edge{40, part}, edge{300, part})
	}
	for len(all) < n {
		var text strings.Builder
		for range 1 + rng.IntN(9) {
			text.WriteString(strings.Repeat(parts[rng.IntN(len(parts))], 1+rng.IntN(8)/6))
		}
		all = append(all, edge{1, text.String()})
	}
	return all
}
