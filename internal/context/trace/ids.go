package trace

import (
	"encoding/hex"
	"strconv"
	"strings"

	"ctxfs/internal/context/pack"
	"ctxfs/internal/swap"
)

// id names something by what it is made of: the same parts give the same id, on every rebuild.
func id(prefix string, parts ...string) string {
	h := swap.Sum([]byte(strings.Join(parts, "\x00")))
	return prefix + "-" + hex.EncodeToString(h[:8])
}

// ContextID names a context: a session's pack for a target, by everything that the pack is a function of.
func ContextID(session, target string, p *pack.Pack, in pack.Input) string {
	parts := []string{session, target, strconv.Itoa(in.Budget), strconv.Itoa(in.Reserve), in.Query}
	for _, s := range p.Inputs {
		parts = append(parts, s.Source, s.Value())
	}
	return id("ctx", append(parts, swap.Sum(p.Markdown).String())...)
}

// ItemID names an item of a session: a candidate of packs.
func ItemID(session, kind, source, rng string) string { return id("item", session, kind, source, rng) }

// InjectionID names the nth injection of a session.
func InjectionID(ctx, assembly, n string) string { return id("injection", ctx, assembly, n) }

// MissingID names a gap by the question that it leaves.
func MissingID(session, question string) string { return id("missing", session, question) }
