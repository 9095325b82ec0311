package tests

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// watcher is a program that shows what is appended, line by line.
type watcher struct {
	cmd   *exec.Cmd
	lines chan string
}

func watch(t *testing.T, name string, args ...string) *watcher {
	t.Helper()
	w := &watcher{cmd: exec.Command(name, args...), lines: make(chan string, 10_000)}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(w.lines)
		for r := bufio.NewReaderSize(out, 1<<20); ; {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			w.lines <- line
		}
	}()
	t.Cleanup(func() {
		_ = w.cmd.Process.Kill()
		_ = w.cmd.Wait()
	})
	return w
}

// want reads until so many lines were shown.
func (w *watcher) want(t *testing.T, n int) []string {
	t.Helper()
	var got []string
	timeout := time.After(time.Minute)
	for len(got) < n {
		select {
		case line, ok := <-w.lines:
			if !ok {
				t.Errorf("%v ended after %d lines of %d", w.cmd.Args, len(got), n)
				return got
			}
			got = append(got, line)
		case <-timeout:
			t.Errorf("%v showed %d lines of %d", w.cmd.Args, len(got), n)
			return got
		}
	}
	return got
}

// Two agents that write the files and one that is asked over the socket, on one session: every record is whole and in
// each writer's order, all readers see the same order, and events tell which record each run is about.
func TestAgentsTogether(t *testing.T) {
	m := newCoder(t)
	dir := m.session("both")
	log := dir + "/messages.jsonl"
	tail := watch(t, "tail", "-n", "+1", "-f", log)
	history := watch(t, program, "history", "coder", "--session", "both", "--mount", m.point, "--follow", "--json")
	m.serveAgent(echo, "session", "both")
	const each, sends = 200, 20
	var wg sync.WaitGroup
	for _, name := range []string{"planner", "coder"} {
		wg.Go(func() {
			script := fmt.Sprintf(`for i in $(seq %d); do echo '{"role":"assistant","name":"%s","seq":'$i',"content":"'$(head -c $((i * 37)) /dev/zero | tr '\0' x)'"}' >> %s || exit 1; done`, each, name, log)
			if out, err := exec.Command("bash", "-c", script).CombinedOutput(); err != nil {
				t.Errorf("%s: %v %s", name, err, out)
			}
		})
	}
	c := m.client()
	answers := map[string][2]int{} // of each send: its record and its answer's
	for i := range sends {
		id := fmt.Sprintf("m%d", i)
		all := c.wantTypes("start, delta, delta, message, done ok", "op", "send", "id", id, "session", "both", "input", id)
		answers[id] = [2]int{all[0].N, all[3].N}
	}
	wg.Wait()

	const total = 2*each + 2*sends
	records := strings.SplitAfter(strings.TrimSuffix(read(t, log), "\n"), "\n")
	if len(records) != total {
		t.Fatalf("%d records, want %d", len(records), total)
	}
	for _, w := range []*watcher{tail, history} {
		if got := strings.Join(w.want(t, total), ""); got != strings.Join(records, "")+"\n" {
			t.Errorf("%v shows something else than what is in the file", w.cmd.Args)
		}
	}
	seq := map[string]int{}
	numbers := map[string]int{} // of records by id
	for i, line := range records {
		var r struct {
			ID, Name string
			Seq      int
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("record %d: %v: %.100s", i+1, err, line)
		}
		if r.Name != "" {
			if seq[r.Name]++; r.Seq != seq[r.Name] {
				t.Errorf("record %d is %s's number %d, want %d", i+1, r.Name, r.Seq, seq[r.Name])
			}
		}
		numbers[r.ID] = i + 1
	}
	m.checkRunEvents(dir, answers, numbers)
}

// checkRunEvents holds the events of runs against the records that they name.
func (m *mount) checkRunEvents(dir string, answers map[string][2]int, numbers map[string]int) {
	m.t.Helper()
	before, started, ended := "", 0, 0
	for _, line := range strings.Split(strings.TrimSuffix(read(m.t, dir+"/events.jsonl"), "\n"), "\n") {
		var e struct {
			Type, Sequence string
			Data           struct {
				ID, Run         string
				Message, Answer int
				Agent           struct{ PID int }
			}
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			m.t.Fatal(err)
		}
		if e.Sequence <= before {
			m.t.Errorf("event %s comes after %s", e.Sequence, before)
		}
		before = e.Sequence
		switch e.Type {
		case "ctxfs.run.started":
			started++
			if e.Data.Message != answers[e.Data.ID][0] || e.Data.Message != numbers[e.Data.ID] || e.Data.Agent.PID == 0 {
				m.t.Errorf("%s: the sender was told record %d, and it is %d", line, answers[e.Data.ID][0], numbers[e.Data.ID])
			}
		case "ctxfs.run.ended":
			ended++
			if e.Data.Answer != answers[e.Data.ID][1] || e.Data.Answer != numbers[e.Data.Run] {
				m.t.Errorf("%s: the sender was told record %d, and it is %d", line, answers[e.Data.ID][1], numbers[e.Data.Run])
			}
		}
	}
	if started != len(answers) || ended != len(answers) {
		m.t.Errorf("%d runs started and %d ended, of %d", started, ended, len(answers))
	}
}
