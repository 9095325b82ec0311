// Package corpus reads the real sessions that quality is measured on: coding agents' logs and long conversations with
// questions about them. It only serves tests and benchmarks; ctxfs itself never imports it.
package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
)

// Session is a log with a name.
type Session struct {
	Name string
	Log  []byte // messages.jsonl
	// Events are the lines of events.jsonl, of a coding agent's log.
	Events [][]byte
}

// Question asks about a conversation, and knows which records answer it.
type Question struct {
	Text     string
	Category int
	Evidence []int // record numbers
}

// Conversation is a session with questions.
type Conversation struct {
	Session
	Texts     []string // what was said, by record number - 1
	Questions []Question
}

// Dir finds ../shared/data beside the repository that the working directory is in; "" when it is not here.
func Dir() string {
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			data := filepath.Join(filepath.Dir(dir), "shared", "data")
			if _, err := os.Stat(data); err == nil {
				return data
			}
			return ""
		}
	}
	return ""
}

// files lists what matches pattern under dir, sorted.
func files(dir, pattern string) ([]string, error) {
	list, err := filepath.Glob(filepath.Join(dir, pattern))
	sort.Strings(list)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("nothing matches %s", filepath.Join(dir, pattern))
	}
	return list, err
}

// message is a line of messages.jsonl.
type message struct {
	Role    string `json:"role"`
	Name    string `json:"name,omitempty"`
	Content string `json:"content"`
	Time    string `json:"created_at,omitempty"`
}

// write adds m to a log.
func write(log *bytes.Buffer, m message) error {
	line, err := json.Marshal(m)
	log.Write(append(line, '\n'))
	return err
}

func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
