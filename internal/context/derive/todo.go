package derive

import (
	"encoding/json"
	"strings"

	"ctxfs/internal/record"
)

// keptLists is how many states of the todo list are kept, so that a pack can show the one that held earlier.
const keptLists = 32

// todoList is the whole list as a call to the agent's todo tool gave it.
type todoList struct {
	n     int
	items []todoItem
}

type todoItem struct {
	text, status string
	n            int // the record that says so
}

// todo keeps the list that b sets, when b is a call to a todo tool (Claude Code's TodoWrite, Codex's update_plan).
func (s *State) todo(n int, b *record.Block) {
	var in struct {
		Todos []struct{ Content, Status string }
		Plan  []struct{ Step, Status string }
	}
	switch strings.ToLower(b.Name) {
	case "todowrite", "todo_write", "update_plan", "write_todos":
	default:
		return
	}
	if json.Unmarshal([]byte(b.Input), &in) != nil {
		return
	}
	l := todoList{n: n}
	for _, t := range in.Todos {
		l.items = append(l.items, todoItem{t.Content, t.Status, n})
	}
	for _, t := range in.Plan {
		l.items = append(l.items, todoItem{t.Step, t.Status, n})
	}
	s.keep(l)
}

// fork ends the plan of the session that this one was forked from: once the fork goes on by itself, nothing in its log will
// ever finish that plan.
func (s *State) fork(r *record.Record) {
	before := len(s.todos) > 0 && s.parents
	s.parents = r.Replayed || r.Meta && before
	if before && !s.parents {
		s.keep(todoList{n: r.N})
	}
}

// keep adds a state of the list; the oldest is dropped beyond keptLists.
func (s *State) keep(l todoList) {
	if len(s.todos) == keptLists {
		s.todos = append(s.todos[:0], s.todos[1:]...)
	}
	s.todos = append(s.todos, l)
}

// Todo writes todo.md as of record upTo: the agent's own list, as its todo tool set it last.
func (s *State) Todo(upTo int) []byte {
	l := todoList{}
	l.n, l.items = s.taskList(upTo)
	for i := len(s.todos) - 1; i >= 0; i-- {
		if t := s.todos[i]; t.n <= upTo && t.n > l.n {
			l = t
			break
		}
	}
	if len(l.items) == 0 {
		return nil
	}
	return l.markdown()
}

func (l *todoList) markdown() []byte {
	var out strings.Builder
	out.WriteString("# Todo (" + ref(l.n) + ")\n\n")
	for _, t := range l.items {
		box, note := "[ ] ", ref(t.n)
		switch t.status {
		case "completed", "done":
			box = "[x] "
		case "in_progress", "cancelled":
			note = strings.ReplaceAll(t.status, "_", " ") + ", " + note
		}
		out.WriteString("- " + box + oneLine(t.text) + " (" + note + ")\n")
	}
	return []byte(out.String())
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
