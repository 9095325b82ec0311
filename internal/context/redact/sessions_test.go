package redact

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ctxfs/internal/quality/corpus"
	"ctxfs/internal/record"
)

// texts gives the texts of the blocks of real sessions beside the repository, and their logs' lines as they stand.
func texts(tb testing.TB) (blocks, lines []string) {
	tb.Helper()
	if _, err := os.Stat(corpus.Dir()); err != nil {
		tb.Skip("SKIP: ../shared/data is not here")
	}
	sessions, err := corpus.Coding(corpus.Dir())
	if err != nil {
		tb.Fatal(err)
	}
	for _, s := range sessions {
		off := int64(0)
		for line := range strings.Lines(string(s.Log)) {
			rec, err := record.Parse([]byte(strings.TrimSuffix(line, "\n")), 1, off)
			if err != nil {
				continue
			}
			lines = append(lines, line)
			for _, b := range rec.Blocks {
				blocks = append(blocks, b.Text)
			}
		}
	}
	return blocks, lines
}

// allLines gives the lines of all files beside the repository: logs of many programs, and conversations.
func allLines(tb testing.TB) (lines []string) {
	tb.Helper()
	if _, err := os.Stat(corpus.Dir()); err != nil {
		tb.Skip("SKIP: ../shared/data is not here")
	}
	err := filepath.WalkDir(corpus.Dir(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		lines = append(lines, slices.Collect(strings.Lines(string(data)))...)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return lines
}

func TestWindowsMissNothingInSessions(t *testing.T) {
	blocks, _ := texts(t)
	r, err := library()
	if err != nil {
		t.Fatal(err)
	}
	left := 1 << 20 // without windows this is slow
	if testing.Short() {
		left = 1 << 17
	}
	for _, text := range blocks {
		if len(text) > 1<<16 {
			continue
		}
		if left -= len(text); left < 0 {
			break
		}
		if got, want := hitNames(text, r.scanText(text)), hitNames(text, slow(r, text)); !slices.Equal(got, want) {
			t.Errorf("in a text of %d bytes: other findings than without windows", len(text))
		}
	}
}

// What is found in real sessions, by rule: the counts, never the text.
func TestCountsInSessions(t *testing.T) {
	blocks, lines := texts(t)
	r, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	for name, list := range map[string][]string{"blocks": blocks, "lines": lines, "all files": allLines(t)} {
		counts := map[string]int{}
		size := 0
		for _, text := range list {
			size += len(text)
			masked, found := r.Mask(text)
			for _, f := range found {
				counts[f.Rule]++
			}
			if len(r.Find(masked)) > 0 {
				t.Errorf("a text of %d bytes has secrets when it is masked", len(text))
			}
			if json.Valid([]byte(text)) && !json.Valid([]byte(masked)) {
				t.Errorf("a text of %d bytes is no JSON any more", len(text))
			}
		}
		t.Logf("%s: %d bytes", name, size)
		for _, rule := range slices.Sorted(maps.Keys(counts)) {
			t.Logf("%6d %s", counts[rule], rule)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	blocks, lines := texts(b)
	for name, list := range map[string][]string{"blocks": blocks, "lines": lines} {
		b.Run(name, func(b *testing.B) {
			r, err := Default()
			if err != nil {
				b.Fatal(err)
			}
			size := 0
			for _, text := range list {
				size += len(text)
			}
			b.SetBytes(int64(size))
			done := cpuRate(b)
			for b.Loop() {
				for _, text := range list {
					r.Find(text)
				}
			}
			done(size)
		})
	}
}

func BenchmarkDefault(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Default(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCompile is what all rules cost that have met their keyword once.
func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		r := rules(b, "")
		for _, rule := range r.rules {
			rule.ready()
		}
	}
}
