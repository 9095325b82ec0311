package compile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Review is a line of channels/review.jsonl: how far something that stands in the context can be believed, and why.
type Review struct {
	ID             string   `json:"claim_id"`
	Kind           string   `json:"kind"` // fact, decision, claim
	Text           string   `json:"text"`
	Score          float64  `json:"credibility"`
	Signals        Signals  `json:"signals"`
	CorroboratedBy []string `json:"corroborated_by"`
	ContradictedBy []string `json:"contradicted_by"`
	Prov
	Time string `json:"time,omitempty"`

	from   int // the record that it stands in
	marks  []string
	failed bool // it claims success
}

// Signals are the parts of a credibility: their sum, between 0 and 1, is the score.
type Signals struct {
	Authority     float64 `json:"authority"`
	Corroboration float64 `json:"corroboration"`
	Contradiction float64 `json:"contradiction"`
	Age           float64 `json:"age"`
}

// maxReviews is how many things are reviewed: claims first, then the newest decisions and facts.
const maxReviews = 100

// maxClaims is how many sentences of the agent's newest message are claims.
const maxClaims = 5

// line is a line of facts.jsonl or decisions.jsonl, whoever wrote it.
type line struct {
	n                                    int
	ID, Text, Source, Status, Supersedes string
	extra                                map[string]any
}

// typed reads a file of facts or decisions. An agent may name the text as it likes; lines without one say nothing.
func typed(data []byte) (out []line) {
	n := 0
	for l := range bytes.Lines(data) {
		n++
		var m map[string]any
		if len(l) > maxHeldLine || json.Unmarshal(l, &m) != nil {
			continue
		}
		take := func(keys ...string) string {
			for _, k := range keys {
				if s, ok := m[k].(string); ok && s != "" {
					delete(m, k)
					return s
				}
			}
			return ""
		}
		x := line{n: n, ID: take("id"), Text: take("text", "decision", "fact", "content", "summary"), Source: take("source", "source_ref"), Status: take("status"),
			Supersedes: take("supersedes")}
		if x.Text == "" {
			continue
		}
		if x.ID == "" {
			x.ID = name("line", x.Text)
		}
		x.extra = m
		out = append(out, x)
	}
	return out
}

// maxHeldLine is the longest line of them that is, in bytes: nobody decides anything in more, and taken apart it is forty times as
// much.
const maxHeldLine = 64 << 10

// maxHeld is how many lines of facts.jsonl and of decisions.jsonl are looked at: the newest.
const maxHeld = 500

// held gives the lines of facts or decisions that the target may see.
func (b *builder) held(kind string, data []byte) []line {
	if list, ok := b.lists[kind]; ok || !b.sees(kind) {
		return list
	}
	list := typed(data)
	if n := len(list) - maxHeld; n > 0 {
		b.notes = append(b.notes, fmt.Sprintf("%s: the first %d lines are not looked at", kind, n))
		list = list[n:]
	}
	list = slices.DeleteFunc(list, func(l line) bool { return refNumber(l.Source) > 0 && b.cited(l.Source) == nil })
	b.lists[kind] = list
	return list
}

// review judges facts, decisions and the agent's newest claims.
func (b *builder) review() {
	b.credit = map[string]float64{}
	facts, decisions := b.held("facts", b.in.Facts), b.held("decisions", b.in.Decisions)
	b.reviews = b.claims()
	for _, set := range []struct {
		kind, file string
		list       []line
	}{{"decision", "context/decisions.jsonl", decisions}, {"fact", "context/facts.jsonl", facts}} {
		from := max(0, len(set.list)-(maxReviews-maxClaims)/2)
		gone := replaced(set.list)
		for i, l := range set.list[from:] {
			b.reviews = append(b.reviews, b.judged(set.kind, set.file, l, gone[l.ID], set.list[from+i+1:]))
		}
	}
	b.corroborate()
	for i := range b.reviews {
		r := &b.reviews[i]
		r.Score = round(min(1, max(0, r.Signals.Authority+r.Signals.Corroboration+r.Signals.Contradiction+r.Signals.Age)))
		b.credit[r.Kind+" "+r.ID] = r.Score
		r.CorroboratedBy, r.ContradictedBy = some(r.CorroboratedBy), some(r.ContradictedBy)
	}
}

// replaced lists the lines that hold no more, and what replaced them.
func replaced(list []line) map[string]string {
	out := map[string]string{}
	for _, l := range list {
		if l.Supersedes != "" {
			out[l.Supersedes] = l.ID
		}
		if s, ok := l.extra["superseded_by"].(string); ok {
			out[l.ID] = s
		} else if l.Status == "superseded" || l.Status == "deprecated" {
			out[l.ID] = l.Status
		}
	}
	return out
}

// Weights of the signals.
const (
	byUser        = 0.8
	byAuthor      = 0.7 // an agent wrote it down, and says no more
	byChild       = 0.6
	byAgent       = 0.5
	byUnknown     = 0.4
	perWitness    = 0.15 // each of at most two tool results that name what it names
	perDenial     = 0.3  // each of at most two
	whenReplaced  = 0.4
	maxAge        = 0.2
	ageHalf       = 30 * 24 * time.Hour // at which half of maxAge is taken off
	maxWitnesses  = 2
	maxReviewText = 400
)

// judged is a fact or a decision with all signals but corroboration.
func (b *builder) judged(kind, file string, l line, gone string, later []line) Review {
	r := Review{ID: l.ID, Kind: kind, Text: shown(l.Text, maxReviewText), Prov: b.lineProv(file, l), from: refNumber(l.Source), marks: marks(l.Text)}
	r.Signals.Authority = byUnknown
	if rec := b.cited(l.Source); rec != nil {
		r.Time = stamp(rec.Time)
		r.Signals.Authority, r.Signals.Age = byAgent, b.age(rec.Time)
		if rec.IsUser() {
			r.Signals.Authority = byUser
		}
	} else if strings.HasPrefix(l.Source, "child:") || strings.HasPrefix(l.Source, "context/child/") {
		r.Signals.Authority = byChild
	} else if (kind == "fact" && b.in.Input.Authored.Facts != nil) || (kind == "decision" && b.in.Input.Authored.Decisions != nil) {
		r.Signals.Authority = byAuthor
	}
	if gone != "" {
		r.Signals.Contradiction, r.ContradictedBy = -whenReplaced, append(r.ContradictedBy, gone)
	}
	for _, o := range later {
		if len(r.ContradictedBy) < maxWitnesses && opposed(l.Text, o.Text) && !slices.Contains(r.ContradictedBy, o.ID) {
			r.Signals.Contradiction -= perDenial
			r.ContradictedBy = append(r.ContradictedBy, o.ID)
		}
	}
	return r
}

// age is what is taken off for the time between something and the newest record.
func (b *builder) age(t time.Time) float64 {
	now, err := time.Parse(time.RFC3339Nano, b.in.Created)
	if err != nil || t.IsZero() || !now.After(t) {
		return 0
	}
	d := now.Sub(t)
	return -round(maxAge * d.Hours() / (d.Hours() + ageHalf.Hours()))
}

// round keeps two decimals: enough to compare, and the same text on every machine.
func round(f float64) float64 { return math.Round(f*100) / 100 }
