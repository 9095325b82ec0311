package session

import "testing"

func TestRecallName(t *testing.T) {
	for name, want := range map[string]struct {
		query  string
		budget int
	}{
		"why did it fail":            {"why did it fail", 0},
		RecallName("why?", 4000):     {"why?", 4000},
		"@4000 why":                  {"@4000 why", 0},
		"@4000?":                     {"@4000?", 0},
		"@4000? ":                    {"@4000? ", 0},
		"@04?x":                      {"@04?x", 0},
		"@-1?x":                      {"@-1?x", 0},
		"@200000000?x":               {"@200000000?x", 0},
		"@team? who said so":         {"@team? who said so", 0},
		"4000?x":                     {"4000?x", 0},
		"@4000?@5?x":                 {"@5?x", 4000},
		"what is @4000? and what is": {"what is @4000? and what is", 0},
	} {
		if query, budget := recallName(name); query != want.query || budget != want.budget {
			t.Errorf("%q: %q, %d", name, query, budget)
		}
	}
}
