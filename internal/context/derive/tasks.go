package derive

import (
	"encoding/json"
	"fmt"
	"strconv"

	"ctxfs/internal/record"
)

// taskChange is one call that makes a task or changes one (Claude Code's TaskCreate and TaskUpdate).
type taskChange struct {
	n      int
	id     string
	text   string // "": as it was
	status string // "": as it was
}

// task keeps the change that b makes, when b is a call to a task tool.
func (s *State) task(n int, b *record.Block) {
	var in struct{ TaskID, Subject, Status string }
	if b.Name != "TaskCreate" && b.Name != "TaskUpdate" || json.Unmarshal([]byte(b.Input), &in) != nil {
		return
	}
	if b.Name == "TaskCreate" {
		s.made++
		in.TaskID, in.Status = strconv.Itoa(s.made), "pending" // until the result says its number
		if b.CallID != "" {
			s.making[b.CallID] = len(s.tasks)
		}
	}
	s.tasks = append(s.tasks, taskChange{n, in.TaskID, in.Subject, in.Status})
}

// numbered takes the number that a task was given from the result of the call that made it.
func (s *State) numbered(b *record.Block) {
	i, ok := s.making[b.CallID]
	if !ok {
		return
	}
	delete(s.making, b.CallID)
	var id int
	if _, err := fmt.Sscanf(b.Text, "Task #%d created", &id); err == nil {
		s.tasks[i].id = strconv.Itoa(id)
		s.made = max(s.made, id)
	}
}

// taskList is the list of tasks as of record upTo; n is the record of its last change, 0 when there is none.
func (s *State) taskList(upTo int) (n int, items []todoItem) {
	at := map[string]int{}
	for _, c := range s.tasks {
		if c.n > upTo {
			break
		}
		n = c.n
		i, ok := at[c.id]
		if !ok {
			i = len(items)
			at[c.id] = i
			items = append(items, todoItem{})
		}
		if c.text != "" {
			items[i].text = c.text
		}
		if c.status != "" {
			items[i].status = c.status
		}
		items[i].n = c.n
	}
	kept := items[:0]
	for _, t := range items {
		if t.status != "deleted" && t.text != "" {
			kept = append(kept, t)
		}
	}
	return n, kept
}
