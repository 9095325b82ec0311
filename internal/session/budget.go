package session

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"ctxfs/internal/context/token"
)

// MaxBudget is the largest budget that may be named, in tokens.
const MaxBudget = 100_000_000

// Budget is what context/budget says.
type Budget struct {
	Tokens    int    // 0: the mount's default
	Reserve   int    // of Tokens, kept free for the answer
	Tokenizer string // "": the mount's
}

// ParseBudget reads a budget file: a token count, then optional `key=value` lines (design: section 3). Empty or 0
// means the mount's default.
func ParseBudget(data []byte) (Budget, error) {
	var b Budget
	i := -1
	for line := range strings.Lines(strings.TrimSpace(string(data))) {
		i++
		line = strings.TrimSpace(line)
		key, value, pair := strings.Cut(line, "=")
		var err error
		switch {
		case line == "":
		case i == 0 && !pair:
			b.Tokens, err = parseTokens(line)
		case pair && key == "reserve":
			b.Reserve, err = parseTokens(value)
		case pair && key == "tokenizer":
			if !slices.Contains(token.Names(), value) {
				return Budget{}, refuse(Invalid, "budget: the tokenizers are %s, not %.40q", strings.Join(token.Names(), ", "), value)
			}
			b.Tokenizer = value
		default:
			return Budget{}, refuse(Invalid, "budget: a token count, then reserve=N or tokenizer=NAME lines; not %.40q", line)
		}
		if err != nil {
			return Budget{}, err
		}
	}
	if b.Tokens > 0 && b.Reserve >= b.Tokens {
		return Budget{}, refuse(Invalid, "budget: the reserve of %d leaves nothing of %d tokens", b.Reserve, b.Tokens)
	}
	return b, nil
}

func parseTokens(s string) (int, error) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, refuse(Invalid, "%.40q is not a number of tokens", s)
		}
	}
	n, err := strconv.Atoi(s)
	if err != nil || n > MaxBudget {
		return 0, refuse(Invalid, "%.40q is not a number of tokens up to %d", s, MaxBudget)
	}
	return n, nil
}

func checkBudget(x *Session, data []byte, _ Caller) ([]byte, error) {
	b, err := ParseBudget(data)
	if def := x.store.opt.Budget; err == nil && b.Tokens == 0 && b.Reserve >= def {
		err = refuse(Invalid, "budget: the reserve of %d leaves nothing of the default of %d tokens", b.Reserve, def)
	}
	return data, err
}

// Policy is what context/gc.policy says (Context Runtime ABI, Context GC). Durations are 0 when not named.
type Policy struct {
	PackTTL, SwapTTL          time.Duration // packs and swap views are kept nowhere: nothing is left to expire
	ArchiveAfter, DeleteAfter time.Duration // of rest
	DedupMinRefs              int
	KeepMessages, KeepEvents  bool
}

// ParsePolicy reads gc.policy: known `key=value` lines; empty lines and lines that start with '#' say nothing.
func ParsePolicy(data []byte) (Policy, error) {
	p := Policy{DedupMinRefs: 1, KeepMessages: true, KeepEvents: true}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		if err := p.set(strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
			return Policy{}, err
		}
	}
	if p.DeleteAfter > 0 && (p.KeepMessages || p.KeepEvents) {
		return Policy{}, refuse(Invalid, "gc.policy: delete_after deletes history: it needs keep_messages=0 and keep_events=0 beside it")
	}
	return p, nil
}

func (p *Policy) set(key, value string) (err error) {
	switch key {
	case "pack_ttl":
		p.PackTTL, err = parseDuration(value)
	case "swap_ttl":
		p.SwapTTL, err = parseDuration(value)
	case "archive_after":
		p.ArchiveAfter, err = parseDuration(value)
	case "delete_after":
		p.DeleteAfter, err = parseDuration(value)
	case "dedup_min_refs":
		p.DedupMinRefs, err = parseTokens(value)
	case "keep_messages":
		p.KeepMessages, err = parseSwitch(value)
	case "keep_events":
		p.KeepEvents, err = parseSwitch(value)
	default:
		err = refuse(Invalid, "gc.policy: %.40q is not known: pack_ttl, swap_ttl, archive_after, delete_after, dedup_min_refs, keep_messages, keep_events", key)
	}
	return err
}

func parseSwitch(s string) (bool, error) {
	if s != "0" && s != "1" {
		return false, refuse(Invalid, "gc.policy: 0 or 1, not %.40q", s)
	}
	return s == "1", nil
}

// parseDuration reads a whole number and a unit: s, m, h, d or w.
func parseDuration(s string) (time.Duration, error) {
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	if len(s) < 2 || units[s[len(s)-1]] == 0 {
		return 0, refuse(Invalid, "gc.policy: a duration is a number with s, m, h, d or w, not %.40q", s)
	}
	n, err := parseTokens(s[:len(s)-1])
	unit := units[s[len(s)-1]]
	if err != nil || int64(n) > int64(100*365*24*time.Hour/unit) {
		return 0, refuse(Invalid, "gc.policy: %.40q is not a duration up to 100 years", s)
	}
	return time.Duration(n) * unit, nil
}

func checkPolicy(_ *Session, data []byte, _ Caller) ([]byte, error) {
	_, err := ParsePolicy(data)
	return data, err
}
