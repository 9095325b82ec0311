package token

import (
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/pkoukk/tiktoken-go-loader/assets"
)

// TestVocabularies compares the packed vocabularies with their source, token by token.
func TestVocabularies(t *testing.T) {
	for _, name := range Names() {
		e := open(t, name)
		text, err := assets.Assets.ReadFile(name + ".tiktoken")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			var word string
			var rank uint32
			if _, err := fmt.Sscan(line, &word, &rank); err != nil {
				t.Fatal(err)
			}
			token, err := base64.StdEncoding.DecodeString(word)
			if err != nil {
				t.Fatal(err)
			}
			if got := e.ranks.of(token, 0, len(token)); got != rank {
				t.Errorf("%s: token %q has rank %d, want %d", name, token, got, rank)
			}
			n++
		}
		if got := ranked(e.ranks); got != n {
			t.Errorf("%s: %d tokens, want %d", name, got, n)
		}
	}
}

func ranked(r *ranks) (n int) {
	for _, slot := range r.slots {
		if slot != emptySlot {
			n++
		}
	}
	return n
}

func TestNewRefusesUnknownNames(t *testing.T) {
	_, err := New("gpt2")
	if err == nil {
		t.Fatal("no error")
	}
	for _, name := range Names() {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%v: does not say %s", err, name)
		}
	}
}

func TestParseRefusesDamage(t *testing.T) {
	for _, raw := range []string{"", "\x01\x00\x00", "\x02\x00\x00\x00\x01", "\x01\x00\x00\x00\x02a", "\xff\xff\xff\xffabc"} {
		if _, err := parse([]byte(raw), -1); !errors.Is(err, errVocab) {
			t.Errorf("%q: %v", raw, err)
		}
	}
	r, err := parse([]byte("\x03\x00\x00\x00\x01\x00\x02abc"), -1)
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]uint32{"a": 0, "bc": 2, "b": noRank, "abc": noRank, "a\x00": noRank} {
		if got := r.of([]byte(token), 0, len(token)); got != want {
			t.Errorf("%q has rank %d, want %d", token, got, want)
		}
	}
}

// BenchmarkNew prints the time to unpack a vocabulary and the memory that an Encoding keeps.
func BenchmarkNew(b *testing.B) {
	for _, name := range Names() {
		b.Run(name, func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			e := open(b, name)
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ResetTimer()
			for range b.N {
				open(b, name)
			}
			b.ReportMetric(float64(after.HeapAlloc)-float64(before.HeapAlloc), "live-B")
			runtime.KeepAlive(e)
		})
	}
}
