package derive

import (
	"encoding/json"
	"strings"

	"ctxfs/internal/record"
)

// asks keeps what a call asks the user to decide, until its result comes: the questions of Claude Code's
// AskUserQuestion, the plan of its ExitPlanMode.
func (s *State) asks(b *record.Block) {
	switch b.Name {
	case "AskUserQuestion", "ExitPlanMode":
		if b.CallID != "" {
			s.asked[b.CallID] = b.Input
		}
	}
}

// answered takes the user's answers to questions, and approved plans, as decisions.
func (s *State) answered(n int, b *record.Block) {
	input, ok := s.asked[b.CallID]
	if !ok {
		return
	}
	delete(s.asked, b.CallID)
	var in struct {
		Questions []struct{ Question string }
		Plan      string
	}
	if json.Unmarshal([]byte(input), &in) != nil || b.IsError {
		return
	}
	text := s.mask(b.Text)
	for _, q := range in.Questions {
		if a, ok := answerTo(text, q.Question); ok {
			s.decide(n, oneLine(Excerpt(q.Question, maxSaying*2/3)+" "+Excerpt(a, maxSaying/3)))
		}
	}
	if strings.HasPrefix(text, "User has approved your plan") {
		if _, plan, ok := strings.Cut(text, "## Approved Plan:"); ok {
			in.Plan = plan
		}
		if t := title(in.Plan); t != "" {
			s.decide(n, "Approved plan: "+t)
		}
	}
}

func (s *State) decide(n int, text string) {
	if s.first(text) {
		s.decisions = append(s.decisions, saying{n, text})
	}
}

// answerTo finds the answer to a question in a result that gives it as "question"="answer".
func answerTo(text, question string) (string, bool) {
	_, rest, ok := strings.Cut(text, `"`+question+`"="`)
	if !ok || question == "" {
		return "", false
	}
	end := len(rest)
	for _, mark := range []string{`", "`, `". You can`, "\" user notes", "\" selected preview"} {
		if i := strings.Index(rest, mark); i >= 0 {
			end = min(end, i)
		}
	}
	a := strings.TrimSuffix(rest[:end], `"`)
	return a, strings.TrimSpace(a) != ""
}

// title is the first line of a text that says something, without the marks of a heading.
func title(text string) string {
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(l), "#")); l != "" {
			return oneLine(Excerpt(l, 200))
		}
	}
	return ""
}
