package tests

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// controlWriters has several writers append lines to control files of a session, each line in an open file of its own.
// Half of the writers leave out the newline, so that close(2) commits the line.
func controlWriters(t *testing.T, c *crowd, dir string) {
	for _, file := range []string{"context/facts.jsonl", "context/missing.jsonl"} {
		acknowledged := make([]int, 8)
		for w := range acknowledged {
			c.run(fmt.Sprint(file, ", writer ", w), func(i int) error {
				line := fmt.Sprintf(`{"question":"writer %d, line %d","severity":"low"}`, w, i)
				if w%2 == 0 {
					line += "\n"
				}
				time.Sleep(time.Duration(rand.IntN(8)) * time.Millisecond) // the file is written whole for each line
				return tryAdd(dir+"/"+file, line)
			}, func(n int) { acknowledged[w] = n })
		}
		c.done = append(c.done, func() { onceEach(t, dir+"/"+file, acknowledged) })
	}
}

// onceEach checks that each acknowledged line of each writer is in a control file once, and in the writer's order.
func onceEach(t *testing.T, file string, acknowledged []int) {
	t.Helper()
	found := make([]int, len(acknowledged))
	for line := range strings.Lines(read(t, file)) {
		var l struct{ Question string }
		var w, i int
		must(t, json.Unmarshal([]byte(line), &l))
		if _, err := fmt.Sscanf(l.Question, "writer %d, line %d", &w, &i); err != nil {
			t.Fatalf("%s: %q", file, line)
		}
		if i != found[w] {
			t.Fatalf("%s: line %d of writer %d follows its line %d", file, i, w, found[w]-1)
		}
		found[w]++
	}
	for w, n := range acknowledged {
		if found[w] != n {
			t.Errorf("%s: %d lines of writer %d, %d were acknowledged", file, found[w], w, n)
		}
	}
}

// Several writers of one control file lose no line when workers are killed.
func TestWorkerKilledControlWriters(t *testing.T) {
	m := newMount(t)
	c := &crowd{t: t}
	controlWriters(t, c, m.session("busy"))
	for range kills(t) {
		m.killWorker()
		time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond)
	}
	c.end()
}
