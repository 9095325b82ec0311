package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// locomoTurn is a turn of a LoCoMo conversation; dia_id is "D<session>:<turn>".
type locomoTurn struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Text    string `json:"text"`
}

// LoCoMo reads the conversations of mem-locomo: two people over many days, and questions with the turns that answer
// them. The first speaker is the user, the second the assistant.
func LoCoMo(dir string) ([]Conversation, error) {
	paths, err := files(dir, "mem-locomo/*.json")
	if err != nil {
		return nil, err
	}
	var out []Conversation
	for _, p := range paths {
		c, err := locomo(p)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func locomo(path string) (Conversation, error) {
	var doc map[string]json.RawMessage
	if err := readJSON(path, &doc); err != nil {
		return Conversation{}, err
	}
	c := Conversation{Session: Session{Name: "locomo " + filepath.Base(path)}}
	var log bytes.Buffer
	var user string
	_ = json.Unmarshal(doc["speaker_a"], &user) // absent: all are assistants
	number := map[string]int{}
	for s := 1; ; s++ {
		raw, ok := doc[fmt.Sprintf("session_%d", s)]
		if !ok {
			if _, dated := doc[fmt.Sprintf("session_%d_date_time", s)]; dated {
				continue
			}
			break
		}
		var turns []locomoTurn
		if err := json.Unmarshal(raw, &turns); err != nil {
			return c, fmt.Errorf("%s: session %d: %w", path, s, err)
		}
		at := locomoTime(doc[fmt.Sprintf("session_%d_date_time", s)])
		for _, t := range turns {
			m := message{Role: "assistant", Name: t.Speaker, Content: t.Text, Time: at}
			if t.Speaker == user {
				m.Role = "user"
			}
			if err := write(&log, m); err != nil {
				return c, err
			}
			c.Texts = append(c.Texts, t.Text)
			number[t.ID] = len(c.Texts)
		}
	}
	c.Log = log.Bytes()
	return c, c.locomoQuestions(doc["qa"], number)
}

// locomoTime reads "1:56 pm on 8 May, 2023".
func locomoTime(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // absent: no time
	t, err := time.Parse("3:04 pm on 2 January, 2006", s)
	if err != nil {
		return ""
	}
	return t.Format(time.RFC3339)
}

func (c *Conversation) locomoQuestions(raw json.RawMessage, number map[string]int) error {
	var qa []struct {
		Question string   `json:"question"`
		Category int      `json:"category"`
		Evidence []string `json:"evidence"`
	}
	if err := json.Unmarshal(raw, &qa); err != nil {
		return fmt.Errorf("%s: questions: %w", c.Name, err)
	}
	for _, q := range qa {
		question := Question{Text: q.Question, Category: q.Category}
		for _, e := range strings.FieldsFunc(strings.Join(q.Evidence, " "), func(r rune) bool { return r == ' ' || r == ';' || r == ',' }) {
			if n := number[e]; n > 0 {
				question.Evidence = append(question.Evidence, n)
			}
		}
		if len(question.Evidence) > 0 && q.Category >= 1 && q.Category <= 4 {
			c.Questions = append(c.Questions, question)
		}
	}
	return nil
}
