package redact

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// known is a text and what gitleaks v8.30.1 finds in it: pairs of rule and secret, sorted.
type known struct {
	Text string      `json:"t"`
	Find [][2]string `json:"f"`
}

// readGolden reads what testdata/oracle wrote: what gitleaks' own program found in the examples of its rules' sources
// (random strings that it makes up, and near misses), in cut, changed and joined ones. It is compressed so that no
// scanner takes it for leaked secrets.
func readGolden(t testing.TB) []known {
	t.Helper()
	packed, err := os.ReadFile("testdata/gitleaks.jsonl.zst")
	if err != nil {
		t.Fatal(err)
	}
	dec, err := zstd.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	var out []known
	lines := bufio.NewScanner(dec)
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		var k known
		if err := json.Unmarshal(lines.Bytes(), &k); err != nil {
			t.Fatal(err)
		}
		out = append(out, k)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// reported is what gitleaks would report of hits: not a generic one whose secret is in another of the same line.
func reported(text string, hits []hit) [][2]string {
	var out [][2]string
	for _, h := range hits {
		other := func(o hit) bool {
			return !strings.Contains(o.rule.ID, "generic") && strings.Contains(text[o.start:o.end], text[h.start:h.end]) &&
				strings.Count(text[:o.from], "\n") == strings.Count(text[:h.from], "\n")
		}
		if !strings.Contains(h.rule.ID, "generic") || !slices.ContainsFunc(hits, other) {
			out = append(out, [2]string{h.rule.ID, text[h.start:h.end]})
		}
	}
	slices.SortFunc(out, func(a, b [2]string) int { return strings.Compare(a[0]+"\x00"+a[1], b[0]+"\x00"+b[1]) })
	return out
}

func TestFindsWhatGitleaksFinds(t *testing.T) {
	r, err := library()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, k := range readGolden(t) {
		got := reported(k.Text, r.scanText(k.Text))
		if !slices.Equal(got, k.Find) {
			t.Errorf("in %q\nfound    %q\ngitleaks %q", k.Text, got, k.Find)
		}
		for _, f := range got {
			found[f[0]] = true
		}
	}
	if len(found) < 215 {
		t.Errorf("the examples have secrets of %d rules only", len(found))
	}
}
