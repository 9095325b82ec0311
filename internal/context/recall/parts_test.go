package recall

import "testing"

func TestBest(t *testing.T) {
	parts := []string{"the first lines of a log", "error: disk full while writing the index", "more lines about the log and the disk", ""}
	for query, want := range map[string]int{"why was the disk full?": 1, "logs": 0, "indexWriting": 1, "nothing like it": -1, "": -1} {
		if got := Best(query, parts); got != want {
			t.Errorf("%q: part %d, want %d", query, got, want)
		}
	}
	if got := Best("log", nil); got != -1 {
		t.Errorf("of no parts: %d", got)
	}
}
