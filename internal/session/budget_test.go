package session

import (
	"testing"
	"time"
)

func TestParseBudget(t *testing.T) {
	for text, want := range map[string]Budget{
		"": {}, "\n": {}, "  \n\n": {}, "0": {}, "8000": {Tokens: 8000}, "8000\n": {Tokens: 8000}, " 8000 \r\n": {Tokens: 8000}, "007": {Tokens: 7},
		"8000\nreserve=500\n": {Tokens: 8000, Reserve: 500}, "8000\ntokenizer=cl100k_base": {Tokens: 8000, Tokenizer: "cl100k_base"},
		"8000\n\ntokenizer=o200k_base\nreserve=7999\n": {Tokens: 8000, Reserve: 7999, Tokenizer: "o200k_base"}, "reserve=500": {Reserve: 500},
		"100000000": {Tokens: 100_000_000},
	} {
		if got, err := ParseBudget([]byte(text)); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"x", "-1", "+1", "1.5", "1e3", "8 000", "8000 9000", "8000\n9000", "٣", "100000001", "99999999999999999999", "0x10",
		"8000\nreserve=8000", "8000\nreserve=9000", "8000\nreserve=", "8000\nreserve=-1", "8000\ntokenizer=", "8000\ntokenizer=none", "8000\ncolour=red",
		"8000\nreserve", "8000\nreserve = 5", "8000\x00", "{}"} {
		if got, err := ParseBudget([]byte(text)); kind(err) != Invalid || got != (Budget{}) {
			t.Errorf("%q: %+v, %v, want Invalid", text, got, err)
		}
	}
}

func TestParsePolicy(t *testing.T) {
	def := Policy{DedupMinRefs: 1, KeepMessages: true, KeepEvents: true}
	for text, change := range map[string]func(*Policy){
		"": func(*Policy) {}, "# words\n\n  # more\n": func(*Policy) {},
		"pack_ttl=90s\nswap_ttl = 5m\narchive_after=2w": func(p *Policy) {
			p.PackTTL, p.SwapTTL, p.ArchiveAfter = 90*time.Second, 5*time.Minute, 14*24*time.Hour
		},
		"pack_ttl=3h\nswap_ttl=4d\n":                         func(p *Policy) { p.PackTTL, p.SwapTTL = 3*time.Hour, 96*time.Hour },
		"dedup_min_refs=3\nkeep_messages=0\nkeep_events=1\r": func(p *Policy) { p.DedupMinRefs, p.KeepMessages = 3, false },
		"pack_ttl=0s":                        func(*Policy) {},
		"archive_after=36500d":               func(p *Policy) { p.ArchiveAfter = 36500 * 24 * time.Hour },
		"pack_ttl=1s\npack_ttl=2s\n#the end": func(p *Policy) { p.PackTTL = 2 * time.Second },
	} {
		want := def
		change(&want)
		if got, err := ParsePolicy([]byte(text)); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"x", "x=1", "pack_ttl", "pack_ttl=", "pack_ttl=5", "pack_ttl=d", "pack_ttl=-5d", "pack_ttl=5y", "pack_ttl=1.5h", "pack_ttl=5 d",
		"archive_after=36501d", "archive_after=99999999w", "dedup_min_refs=x", "dedup_min_refs=-1", "keep_messages=yes", "keep_messages=", "keep_events=2", "=1", "PACK_TTL=1d"} {
		if got, err := ParsePolicy([]byte(text)); kind(err) != Invalid || got != (Policy{}) {
			t.Errorf("%q: %+v, %v, want Invalid", text, got, err)
		}
	}
}

func FuzzParseBudget(f *testing.F) {
	for _, s := range []string{"8000\nreserve=10\ntokenizer=o200k_base\n", "", "0", "reserve=5", "x=\n=", "9\n\n\nreserve=8"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := ParseBudget(data)
		switch {
		case err != nil && kind(err) != Invalid:
			t.Errorf("%q: %v", data, err)
		case err == nil && (b.Tokens < 0 || b.Tokens > MaxBudget || b.Reserve < 0 || b.Reserve > MaxBudget || b.Tokens > 0 && b.Reserve >= b.Tokens):
			t.Errorf("%q: %+v", data, b)
		}
	})
}

func FuzzParsePolicy(f *testing.F) {
	for _, s := range []string{"pack_ttl=90s\nkeep_messages=1\n", "# x\n\ndedup_min_refs=3", "archive_after=36500d", "pack_ttl=99999999w"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParsePolicy(data)
		const max = 100 * 365 * 24 * time.Hour
		switch {
		case err != nil && kind(err) != Invalid:
			t.Errorf("%q: %v", data, err)
		case err == nil && (p.PackTTL < 0 || p.SwapTTL < 0 || p.ArchiveAfter < 0 || p.PackTTL > max || p.SwapTTL > max || p.ArchiveAfter > max || p.DedupMinRefs < 0):
			t.Errorf("%q: %+v", data, p)
		}
	})
}
