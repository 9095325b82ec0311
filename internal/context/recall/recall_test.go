package recall

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestStem(t *testing.T) {
	for in, want := range map[string]string{
		"running": "run", "hopping": "hop", "hoping": "hope", "caresses": "caress", "ponies": "poni", "ties": "tie",
		"relational": "relat", "conditional": "condit", "generously": "generous", "happiness": "happi", "dying": "die",
		"consistency": "consist", "knightly": "knight", "kiwis": "kiwi", "gas": "gas", "this": "this", "agreed": "agre",
		"luxuriated": "luxuri", "falling": "fall", "proceed": "proceed", "sensational": "sensat", "controlled": "control",
		"by": "by", "say": "say", "cry": "cri", "adoption": "adopt", "university": "univers", "communism": "communism",
		"painted": "paint", "paintings": "paint", "national": "nation", "feed": "feed", "hoped": "hope", "notes": "note",
	} {
		if got := stem(in); got != want {
			t.Errorf("stem(%q) = %q, want %q", in, got, want)
		}
	}
}

func terms(text string) []uint64 {
	var out []uint64
	s := scanner{yield: func(h uint64) { out = append(out, h) }}
	s.scan(text)
	return out
}

func TestTerms(t *testing.T) {
	for in, want := range map[string]string{
		"How did we fix the mount bug?":    "fix mount bug",
		"parseHTTPServer_v2":               "pars http server 2 parsehttpserver_v2",
		"internal/swap/tree.go":            "intern swap tree go",
		"Mélanie's été":                    "mélani été",
		"日本語":                              "日本 本語",
		"本":                                "本",
		"2023-05-08":                       "2023 05 08",
		strings.Repeat("x", 50) + " short": "short",
	} {
		var hashes []uint64
		for _, w := range strings.Fields(want) {
			hashes = append(hashes, hash(w))
		}
		if got := terms(in); !slices.Equal(got, hashes) {
			t.Errorf("terms(%q) are not %q", in, want)
		}
	}
}

func TestSearchFindsAndIgnoresLaterRecords(t *testing.T) {
	x := NewIndex()
	for i := 0; i < 300; i++ {
		x.Add(time.Time{}, fmt.Sprintf("record %d is about topic%d and nothing else", i, i%50))
	}
	x.Add(time.Time{}, "the mount bug was a stale dentry", "tool output")
	before := x.Rank("mounting bugs", 301, 5, Neighbours|Episodes)
	if len(before) != 1 || before[0].N != 301 {
		t.Fatalf("hits %v", before)
	}
	if got := x.Rank("mount", 300, 5, 0); got != nil {
		t.Errorf("a search of the first 300 records found %v", got)
	}
	old := x.Rank("topic7 record 7", 200, 10, 0)
	x.Add(time.Time{}, "topic7 topic7 mount bug")
	if got := x.Rank("topic7 record 7", 200, 10, 0); !slices.Equal(got, old) {
		t.Errorf("an append changed the answer over older records: %v, then %v", old, got)
	}
}

// TestPostings compares packed postings with plain ones over sizes that cross chunks and pages.
func TestPostings(t *testing.T) {
	x := NewIndex()
	want := map[string][]posting{}
	for n := 1; n <= 5000; n++ {
		var words []string
		for w := 1; w <= 40; w += 3 {
			if n%w == 0 {
				name := fmt.Sprintf("w%dx", w)
				tf := 1 + n%4/3*(n%500)
				words = append(words, strings.Repeat(name+" ", tf))
				want[name] = append(want[name], posting{uint32(n), uint32(tf)})
			}
		}
		x.Add(time.Time{}, words...)
	}
	for name, list := range want {
		h := hash(strings.ToLower(name))
		got := x.pages.read(&x.terms[x.slots[x.find(h)]-1], 5000, nil)
		if !slices.Equal(got, list) {
			t.Errorf("%s: %d postings, want %d", name, len(got), len(list))
		}
	}
}

func FuzzTerms(f *testing.F) {
	for _, s := range []string{"", "aB_c9", "日本x語", "\xff\xfeab", "é_É", "___", "A1b2C3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		x := NewIndex()
		x.Add(time.Time{}, s)
		if q := Query(s); len(q) > 0 && len(x.Rank(s, 1, 1, 0)) != 1 {
			t.Fatalf("%q does not find itself", s)
		}
	})
}
