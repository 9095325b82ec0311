package report

import (
	"encoding/json"
	"strings"
	"time"

	"ctxfs/internal/record"
)

// Story is what a report shows.
type Story struct {
	Agent, Session string
	Records        int
	Steps          []Step
	Compactions    []Compaction
	Usage          []Usage
	Imported       string // the format of the log that the session was imported from; "" when its records name none
	mask           func(text string) string
}

// Compaction is a place where a runtime replaced what stood before.
type Compaction struct {
	At      int // the record after which it was; 0: before the first
	Time    time.Time
	Trigger string
	Before  int // tokens of the context before it, by the runtime's count; 0: not told
}

// Tell returns the story of a log, of the events beside it, and of the packs at the records at. mask masks the secrets of a text.
func Tell(agent, session string, log *record.Memory, events []byte, at []int, packs []Pack, mask func(text string) string) (*Story, error) {
	s := &Story{Agent: agent, Session: session, Records: log.Len(), mask: mask}
	tools := map[int]int64{} // bytes of tool outputs by record
	sum, next := int64(0), 0
	var times []time.Time
	for n := 1; n <= log.Len(); n++ {
		r, err := log.Record(n)
		if err != nil {
			return nil, err
		}
		times = append(times, r.Time)
		if err := s.look(log, n); err != nil {
			return nil, err
		}
		if b := toolBytes(&r); b > 0 {
			tools[n] = b
			sum += b
		}
		if r.Compaction {
			s.Compactions = append(s.Compactions, Compaction{At: n, Time: r.Time})
		}
		if next < len(at) && at[next] == n {
			s.add(&r, packs[next], sum, tools)
			next++
		}
	}
	s.addEvents(events, times)
	return s, nil
}

// look reads what the line of record n has beside the message.
func (s *Story) look(log *record.Memory, n int) error {
	line, err := log.Raw(n)
	if err != nil {
		return err
	}
	if u, ok := usageOf(line, n); ok {
		s.Usage = append(s.Usage, u)
	}
	if s.Imported == "" {
		s.Imported = s.mask(record.ParseIDs(line).Format)
	}
	return nil
}

// add makes a step of a record and the pack at it.
func (s *Story) add(r *record.Record, p Pack, sum int64, tools map[int]int64) {
	step := Step{At: r.N, Who: s.mask(r.Role), Said: start(s.mask(r.Words())), Time: r.Time, Pack: p, ToolBytes: sum, ToolShown: toolShown(&p, tools)}
	var before Pack
	if n := len(s.Steps); n > 0 {
		before = s.Steps[n-1].Pack
	}
	step.Entered, step.Left = diff(&before, &p)
	s.Steps = append(s.Steps, step)
}

func toolBytes(r *record.Record) (sum int64) {
	for i := range r.Blocks {
		if r.Blocks[i].Kind == record.ToolResult {
			sum += int64(len(r.Blocks[i].Text))
		}
	}
	return sum
}

// toolShown is about how many bytes of tool outputs a pack shows: those of records that are in, without what was cut from them, at four
// bytes a token.
func toolShown(p *Pack, tools map[int]int64) (sum int64) {
	for i := range p.Items {
		first, last, ok := p.Items[i].records()
		if !ok {
			continue
		}
		part := int64(0)
		for n := first; n <= last; n++ {
			part += tools[n]
		}
		if p.Items[i].Cut {
			part = min(part, int64(p.Items[i].Tokens)*4)
		}
		sum += part
	}
	return sum
}

// start is how a text begins, in one line.
func start(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	const most = 160
	for i := range text {
		if i >= most {
			return text[:i] + "…"
		}
	}
	return text
}

// addEvents takes compactions from events: of a runtime's log that was imported, and of `ctxfs compact`.
func (s *Story) addEvents(events []byte, times []time.Time) {
	for line := range strings.Lines(string(events)) {
		var e struct {
			Type string
			Time string `json:"created_at"`
			Data struct {
				Meta struct {
					Trigger string `json:"trigger"`
					Before  int    `json:"preTokens"`
				} `json:"compactMetadata"`
			} `json:"data"`
		}
		if json.Unmarshal([]byte(line), &e) != nil || e.Type != "compaction" {
			continue
		}
		c := Compaction{Trigger: s.mask(e.Data.Meta.Trigger), Before: e.Data.Meta.Before}
		c.Time, _ = time.Parse(time.RFC3339, e.Time) // zero: not told
		for n, t := range times {
			if !t.IsZero() && !t.After(c.Time) {
				c.At = n + 1
			}
		}
		s.merge(c)
	}
}

// merge adds what an event says to the record that stands for the same compaction, which follows it closely.
func (s *Story) merge(c Compaction) {
	for i := range s.Compactions {
		if x := &s.Compactions[i]; x.Before == 0 && x.Trigger == "" && x.At >= c.At && x.At <= c.At+2 {
			x.Trigger, x.Before = c.Trigger, c.Before
			return
		}
	}
	s.Compactions = append(s.Compactions, c)
}
