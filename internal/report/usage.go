package report

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Usage is what a model's API counted for the call that a record answers, in tokens.
type Usage struct {
	At                        int // the record
	Fresh, Read, Wrote, Reply int // sent and not cached, read from the cache, sent and written to it; answered
}

// Sent is all that the model was sent.
func (u *Usage) Sent() int { return u.Fresh + u.Read + u.Wrote }

// counts are the members of a record's "usage" that name tokens, as importers, Anthropic's API and OpenAI's write them.
type counts struct {
	Input      float64 `json:"input_tokens"`
	Prompt     float64 `json:"prompt_tokens"`
	Output     float64 `json:"output_tokens"`
	Completion float64 `json:"completion_tokens"`
	Read       float64 `json:"cache_read_input_tokens"`
	Wrote      float64 `json:"cache_creation_input_tokens"`
	Total      float64 `json:"total_tokens"`
	Details    struct {
		Cached float64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// usageOf returns the usage that a line of the log has, its own or that of the message in it; ok is false without one.
func usageOf(line []byte, at int) (u Usage, ok bool) {
	if !bytes.Contains(line, []byte(`"usage"`)) {
		return u, false
	}
	var r struct {
		Usage   *counts
		Message struct{ Usage *counts }
	}
	_ = json.Unmarshal(line, &r) // members of other types are passed over, as a message that is a text
	c := r.Usage
	if c == nil {
		c = r.Message.Usage
	}
	if c == nil {
		return u, false
	}
	u = c.usage()
	u.At = at
	return u, u.Sent()+u.Reply > 0
}

// usage sorts counts out. Some APIs count cached tokens as input too, others beside it: the total shows which, and where there is
// none the names do.
func (c *counts) usage() Usage {
	in, out, read := tokens(c.Input+c.Prompt), tokens(c.Output+c.Completion), tokens(c.Read+c.Details.Cached)
	u := Usage{Fresh: in, Read: read, Wrote: tokens(c.Wrote), Reply: out}
	within := c.Details.Cached > 0
	if total := tokens(c.Total); total > 0 {
		within = in+read+u.Wrote+out > total
	}
	if within {
		u.Fresh = max(0, in-read-u.Wrote)
	}
	return u
}

// maxTokens bounds a count: what a log says may be anything.
const maxTokens = 1 << 40

func tokens(n float64) int { return int(min(max(n, 0), maxTokens)) }

// Spent is the sum of usages. Most is all that the largest call took.
type Spent struct{ Calls, Fresh, Read, Wrote, Reply, Most int }

// Spent adds the usages of the session up.
func (s *Story) Spent() (sum Spent) {
	for i := range s.Usage {
		u := &s.Usage[i]
		sum.Calls++
		sum.Fresh, sum.Read, sum.Wrote, sum.Reply = sum.Fresh+u.Fresh, sum.Read+u.Read, sum.Wrote+u.Wrote, sum.Reply+u.Reply
		sum.Most = max(sum.Most, u.Sent()+u.Reply)
	}
	return sum
}

// maxCalls is how many calls the chart shows: of more, the largest of each run of neighbours.
const maxCalls = 400

// call is a bar of the chart of usage.
type call struct {
	X, W  float64
	Parts []segment
	Label string
}

// drawn returns the usages that the chart shows.
func (s *Story) drawn() (out []Usage) {
	run := (len(s.Usage) + maxCalls - 1) / maxCalls
	for i := 0; i < len(s.Usage); i += run {
		best := s.Usage[i]
		for _, u := range s.Usage[i:min(i+run, len(s.Usage))] {
			if u.Sent()+u.Reply > best.Sent()+best.Reply {
				best = u
			}
		}
		out = append(out, best)
	}
	return out
}

func (s *Story) calls() (out []call) {
	list, most := s.drawn(), max(1, s.Spent().Most)
	wide := chartWidth / float64(max(1, len(list)))
	for i := range list {
		u := &list[i]
		c := call{X: float64(i) * wide, W: wide * 0.86, Label: fmt.Sprintf("record %d: %d tokens sent (%d read from the cache, %d written to it, %d not cached), %d answered",
			u.At, u.Sent(), u.Read, u.Wrote, u.Fresh, u.Reply)}
		y := usageHeight
		for _, p := range []struct {
			kind   string
			tokens int
		}{{"u0", u.Read}, {"u1", u.Wrote}, {"u2", u.Fresh}, {"u3", u.Reply}} {
			h := float64(p.tokens) / float64(most) * usageHeight * 0.95
			if y -= h; p.tokens > 0 {
				c.Parts = append(c.Parts, segment{Class: p.kind, Y: y, H: h, Tokens: p.tokens})
			}
		}
		out = append(out, c)
	}
	return out
}
