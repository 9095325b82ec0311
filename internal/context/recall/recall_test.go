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
		if got := string(newStemmer().stem([]byte(in))); got != want {
			t.Errorf("stem(%q) = %q, want %q", in, got, want)
		}
	}
}

func terms(text string) []uint32 { return newScanner().scan(text) }

func keyOf(word string) uint32 { return key(hash(word, 0, len(word))) }

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
		"_ ___ a_1 x":                      "1 a_1",
	} {
		var keys []uint32
		for _, w := range strings.Fields(want) {
			keys = append(keys, keyOf(w))
		}
		if got := terms(in); !slices.Equal(got, keys) {
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

// TestPostings compares packed postings with plain ones, over sizes that make parts of all levels.
func TestPostings(t *testing.T) {
	x := NewIndex()
	want := map[string][]posting{}
	const records = 100_000
	for n := 1; n <= records; n++ {
		words := []string{fmt.Sprintf("only%dx ", n)}
		for w := 1; w <= 1<<14; w = w*3/2 + 1 {
			if n%w == 0 {
				name := fmt.Sprintf("w%dx", w)
				tf := 1 + n%64/63*(n%500)
				words = append(words, strings.Repeat(name+" ", tf))
				want[name] = append(want[name], posting{uint32(n), uint32(tf)})
			}
		}
		x.Add(time.Time{}, words...)
	}
	if len(x.parts) == 0 || x.parts[0].level == 0 || x.parts[len(x.parts)-1].level != 0 || len(x.open.posts) == 0 {
		t.Fatal("the test does not reach all that it should")
	}
	for name, list := range want {
		for _, upTo := range []uint32{records, records / 3} {
			n, _ := slices.BinarySearchFunc(list, upTo+1, func(p posting, n uint32) int { return int(p.doc) - int(n) })
			w := x.wanted([]Term{{keyOf(name), 1}})
			if len(w) != 1 || int(w[0].df) != len(list) || !slices.Equal(w[0].read(upTo), list[:n]) {
				t.Errorf("%s up to %d: %d found", name, upTo, len(w))
			}
		}
	}
	for n := 1; n <= records; n += 997 {
		if w := x.wanted([]Term{{keyOf(fmt.Sprintf("only%dx", n)), 1}}); len(w) != 1 || !slices.Equal(w[0].read(records), []posting{{uint32(n), 1}}) {
			t.Errorf("the word of record %d is not found", n)
		}
	}
}

// TestBits checks that numbers of all sizes come back.
func TestBits(t *testing.T) {
	var w bitWriter
	for v := uint32(1); v > 0 && v < 1<<30; v = v*5/3 + 1 {
		for b := uint(0); b <= 31; b++ {
			w.rice(v, b)
		}
		at := w.at()
		w.put(0, 32)
		w.gamma(v)
		w.setWord(at, v)
	}
	r := bitReader{words: w.close()}
	for v := uint32(1); v > 0 && v < 1<<30; v = v*5/3 + 1 {
		for b := uint(0); b <= 31; b++ {
			if got := r.rice(b); got != v {
				t.Fatalf("rice %d of %d is %d", b, v, got)
			}
		}
		if got := r.word(); got != v {
			t.Fatalf("word %d is %d", v, got)
		}
		if got := r.gamma(); got != v {
			t.Fatalf("gamma of %d is %d", v, got)
		}
	}
}

// TestLongQueryIgnoresLaterRecords checks that which terms of a long query count does not depend on later records.
func TestLongQueryIgnoresLaterRecords(t *testing.T) {
	x := NewIndex()
	words := func(from, to int) string {
		var out strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&out, "w%c%cz ", 'a'+i%26, 'a'+i/26)
		}
		return out.String()
	}
	for i := 0; i < 100; i++ {
		x.Add(time.Time{}, words(i, 2*maxTerms))
	}
	before := x.Rank(words(0, 2*maxTerms), 100, 20, 0)
	for i := 0; i < 100; i++ {
		x.Add(time.Time{}, words(0, maxTerms))
	}
	if after := x.Rank(words(0, 2*maxTerms), 100, 20, 0); !slices.Equal(before, after) {
		t.Errorf("an append changed the answer over older records: %v, then %v", before, after)
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
