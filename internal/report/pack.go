package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Pack is what is read of a pack.json (context-runtime-abi, "Context Pack").
type Pack struct {
	Budget  int    `json:"budget_tokens"`
	Tokens  int    `json:"tokens"`
	Query   string `json:"query"`
	Items   []Part `json:"items"`
	Omitted []Part `json:"omitted"`
}

// Part is an item of a pack, or something that it left out.
type Part struct {
	Kind   string             `json:"kind"`
	Source string             `json:"source"`
	Range  string             `json:"range"`
	Tokens int                `json:"tokens"`
	Hash   string             `json:"hash"`
	Tree   string             `json:"tree_hash"`
	AsOf   string             `json:"as_of_hash"`
	Parts  map[string]float64 `json:"score_parts"`
	Cut    bool               `json:"cut"`
	Reason string             `json:"reason"`
}

// ParsePack reads a pack.json.
func ParsePack(data []byte) (Pack, error) {
	var p Pack
	if err := json.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("pack.json: %w", err)
	}
	return p, nil
}

// digest returns the hash that is set.
func (p *Part) digest() string { return cmp.Or(p.Hash, p.Tree, p.AsOf) }

// records gives the first and last record of a part of the log; ok is false for files.
func (p *Part) records() (first, last int, ok bool) {
	if p.Source != messages || p.Range == "" {
		return 0, 0, false
	}
	from, to, _ := strings.Cut(p.Range, "-")
	first, err := strconv.Atoi(strings.SplitN(from, ".", 2)[0])
	if err != nil {
		return 0, 0, false
	}
	if last, err = strconv.Atoi(to); err != nil {
		last = first
	}
	return first, last, first <= last && last-first < maxRange
}

const messages = "messages.jsonl"

// maxRange is how many records one part stands for at most.
const maxRange = 1 << 22

// why is the largest part of an item's score, in words: what brought it in.
func (p *Part) why() string {
	names := make([]string, 0, len(p.Parts))
	for name := range p.Parts {
		names = append(names, name)
	}
	slices.Sort(names)
	best := ""
	for _, name := range names {
		if best == "" || p.Parts[name] > p.Parts[best] {
			best = name
		}
	}
	switch best {
	case "floor":
		return "must be in"
	case "authority":
		return "written down"
	case "recency":
		return "recent"
	case "working":
		return "about a file worked on"
	case "relevance":
		return "answers the request"
	}
	return best
}

// whyOut is a reason to leave something out, in words.
func whyOut(reason string) string {
	switch reason {
	case "budget_limit":
		return "no room in the budget"
	case "low_relevance":
		return "says little to the request"
	case "duplicate":
		return "stands there already"
	case "superseded_by_summary":
		return "the summary covers it"
	case "stale":
		return "a newer reading of it is there"
	case "too_large":
		return "too large"
	case "incomplete_tool_pair":
		return "a call without its result, or the other way round"
	case "not_visible_to_target":
		return "not for this reader"
	case "":
		return "older than what is looked at"
	}
	return strings.ReplaceAll(reason, "_", " ")
}
