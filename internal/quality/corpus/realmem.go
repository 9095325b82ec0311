package corpus

import (
	"bytes"
	"path/filepath"
	"slices"
)

// Need is a place in a long history: the user has just asked in record At, and a good answer knows Sessions.
type Need struct {
	At       int
	Sessions []int
}

// History is many sessions with one person, written as one log.
type History struct {
	Session
	SessionOf []int // the session of record n, at n-1
	Needs     []Need
}

type realmemTurn struct {
	Speaker  string   `json:"speaker"`
	Content  string   `json:"content"`
	Sessions []string `json:"memory_session_uuids"` // on answers: the sessions that they draw on
}

// RealMem reads the histories of mem-realmem. A session's date becomes its records' time.
func RealMem(dir string) ([]History, error) {
	paths, err := files(dir, "mem-realmem/*.json")
	if err != nil {
		return nil, err
	}
	var out []History
	for _, p := range paths {
		h, err := realmem(p)
		if err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	return out, nil
}

func realmem(path string) (History, error) {
	h := History{Session: Session{Name: "realmem " + filepath.Base(path)}}
	var doc struct {
		Dialogues []struct {
			UUID  string        `json:"session_uuid"`
			Time  string        `json:"current_time"`
			Turns []realmemTurn `json:"dialogue_turns"`
		} `json:"dialogues"`
	}
	if err := readJSON(path, &doc); err != nil {
		return h, err
	}
	var log bytes.Buffer
	number := map[string]int{}
	for i, d := range doc.Dialogues {
		number[d.UUID] = i
		for _, t := range d.Turns {
			m := message{Role: "user", Content: t.Content, Time: d.Time[:min(len(d.Time), len("2006-01-02"))]}
			if t.Speaker != "User" {
				m.Role = "assistant"
				h.need(t.Sessions, number, i)
			}
			if err := write(&log, m); err != nil {
				return h, err
			}
			h.SessionOf = append(h.SessionOf, i)
		}
	}
	h.Log = log.Bytes()
	return h, nil
}

// need notes that the next answer draws on earlier sessions.
func (h *History) need(uuids []string, number map[string]int, now int) {
	n := Need{At: len(h.SessionOf)}
	for _, u := range uuids {
		if s, ok := number[u]; ok && s != now && !slices.Contains(n.Sessions, s) {
			n.Sessions = append(n.Sessions, s)
		}
	}
	if len(n.Sessions) > 0 && n.At > 0 {
		h.Needs = append(h.Needs, n)
	}
}
