package tests

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The daemon is killed while eight clients send: what was answered with start is in the log, once, and sending all again
// completes it, once.
func TestSocketKilledWhileSending(t *testing.T) {
	m := newCoder(t)
	const clients, each = 8, 400
	for round := range 4 {
		var agents []*client
		agents = append(agents, m.quietAgent())
		started := make([]int, clients)
		var wg sync.WaitGroup
		for i := range clients {
			conn, err := dial(m.point+"/agent", "coder")
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				defer conn.Close()
				in := json.NewDecoder(conn)
				for k := range each {
					if _, err := fmt.Fprintf(conn, `{"op":"send","id":"r%d-c%d-%d","session":"s%d","input":"x"}`+"\n", round, i, k, i%2); err != nil {
						return
					}
					for {
						var f frame
						if in.Decode(&f) != nil {
							return
						}
						if f.Type == "start" {
							started[i] = k + 1
						}
						if f.Type == "done" {
							break
						}
					}
				}
			})
		}
		time.Sleep(time.Duration(100+70*round) * time.Millisecond)
		if err := m.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = m.cmd.Wait()
		wg.Wait()
		for _, a := range agents {
			a.conn.Close()
		}
		_ = syscall.Unmount(m.point, syscall.MNT_DETACH)
		m.start()
		m.sentAgain(round, started)
	}
	for _, s := range []string{"s0", "s1"} {
		m.eachOnce(s)
	}
}

// sentAgain sends what was started before the crash, and one more of each client, whose message may be there or not.
func (m *mount) sentAgain(round int, started []int) {
	m.t.Helper()
	m.quietAgent()
	c := m.client()
	total := 0
	for i, n := range started {
		total += n
		for k := range n + 1 {
			c.ask("op", "send", "id", fmt.Sprintf("r%d-c%d-%d", round, i, k), "session", fmt.Sprintf("s%d", i%2), "input", "x")
			all, last := c.done()
			if last.Status != "ok" || k < n && !all[0].Replay {
				m.t.Errorf("round %d client %d message %d of %d: %s, replay %v", round, i, k, n, types(all), all[0].Replay)
			}
		}
	}
	m.t.Logf("round %d: %d messages were answered before the crash", round, total)
	c.conn.Close()
}

// quietAgent answers until its connection ends, however it does.
func (m *mount) quietAgent() *client {
	m.t.Helper()
	a := m.client()
	a.ask("op", "serve")
	a.next()
	ended := make(chan bool)
	go func() {
		defer close(ended)
		in := json.NewDecoder(a.in)
		for {
			var f frame
			if in.Decode(&f) != nil {
				return
			}
			if _, err := io.WriteString(a.conn, `{"op":"done","run":"`+f.Run+`","text":"answer"}`+"\n"); err != nil {
				return
			}
		}
	}()
	m.t.Cleanup(func() { a.conn.Close(); <-ended })
	return a
}

// eachOnce tells of messages that are in a log twice, or have not one answer.
func (m *mount) eachOnce(session string) {
	m.t.Helper()
	data, err := os.ReadFile(filepath.Join(m.agent, "session", session, "messages.jsonl"))
	if err != nil {
		m.t.Fatal(err)
	}
	users, answers := map[string]int{}, map[string]int{}
	for line := range strings.Lines(string(data)) {
		var r struct {
			ID, Role string
			Parent   string `json:"parent_id"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			m.t.Errorf("%v: %.100q", err, line)
		}
		if r.Role == "user" {
			users[r.ID]++
		} else {
			answers[r.Parent]++
		}
	}
	for id, n := range users {
		if n != 1 || answers[id] != 1 {
			m.t.Errorf("%s: recorded %d times, answered %d times", id, n, answers[id])
		}
	}
}
