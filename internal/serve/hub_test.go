package serve

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ctxfs/internal/frames"
	"ctxfs/internal/session"
)

// bench is a hub over a new store, with a socket beside it.
type bench struct {
	t    testing.TB
	hub  *Hub
	path string
}

func newBench(t testing.TB, l Limits) *bench {
	t.Helper()
	store, err := session.Open(filepath.Join(t.TempDir(), "store"), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, hub: New(store, l), path: dir + "/s"}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: b.path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan bool)
	go func() { defer close(ended); b.hub.Serve(ln, false, "coder") }()
	t.Cleanup(func() {
		ln.Close()
		<-ended
		b.hub.Close()
		if len(b.hub.conns) != 0 || len(b.hub.perUID) != 0 || b.temps() != 0 || len(b.hub.agents) != 0 {
			t.Errorf("something is left: %d connections, %d users, %d temporary sessions, %d agents", len(b.hub.conns), len(b.hub.perUID), b.temps(), len(b.hub.agents))
		}
		for k, p := range b.hub.places {
			if p.users != 0 || len(p.runs) != 0 || len(p.subs) != 0 {
				t.Errorf("%v: %d users, %d runs, %d listeners are left", k, p.users, len(p.runs), len(p.subs))
			}
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		os.RemoveAll(dir)
	})
	return b
}

// temps counts the temporary sessions, in the hub and in the store.
func (b *bench) temps() int {
	n := int(b.hub.store.Temporary())
	b.hub.mu.Lock()
	users := slices.Collect(maps.Values(b.hub.temps))
	b.hub.mu.Unlock()
	for _, t := range users {
		t.mu.Lock()
		n += len(t.places)
		t.mu.Unlock()
	}
	return n
}

type end struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
}

func (b *bench) dial() *end {
	b.t.Helper()
	c, err := net.Dial("unix", b.path)
	if err != nil {
		b.t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	b.t.Cleanup(func() { c.Close() })
	return &end{b.t, c, bufio.NewReader(c)}
}

func (e *end) say(format string, args ...any) { fmt.Fprintf(e.conn, format+"\n", args...) }

func (e *end) next() (r frames.Reply) {
	line, err := e.in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	if err != nil {
		r.Type = "EOF"
	}
	return r
}

// until reads to the end of a request, and gives the types on the way.
func (e *end) until() string {
	var out []string
	for {
		r := e.next()
		out = append(out, strings.Join(strings.Fields(r.Type+" "+string(r.Code)+" "+r.Status), " "))
		if r.Type == frames.Done || r.Type == frames.Pong || r.Type == "EOF" {
			return strings.Join(out, ", ")
		}
	}
}

// The limits of one connection, of an agent and of temporary sessions.
func TestLimits(t *testing.T) {
	l := DefaultLimits()
	l.Jobs, l.Runs, l.TempPerUID, l.TempBytes, l.Text = 3, 2, 2, 400, 100
	b := newBench(t, l)
	a, c := b.dial(), b.dial()
	a.say(`{"op":"serve"}`)
	a.next()
	for i := range 3 {
		c.say(`{"op":"send","id":"m%d","input":"x"}`, i)
	}
	got := ""
	for range 5 {
		r := c.next()
		got += r.Type + string(r.Code) + " "
	}
	if got != "start start start errorEAGAIN done " {
		t.Errorf("an agent with too many runs: %s", got)
	}
	c.say(`{"op":"follow"}`)
	c.next() // start
	c.next() // m0
	c.next()
	c.next()
	c.say(`{"op":"resume"}`)
	if got := c.until(); got != "error EAGAIN, done error" {
		t.Errorf("a connection that waits for too much: %s", got)
	}
	d := b.dial()
	for i, want := range []string{"start, error EAGAIN, done error", "start, error EAGAIN, done error", "error EAGAIN, done error"} {
		d.say(`{"op":"send","id":"t","scope":"temp","session":"t%d","input":"x"}`, i)
		if got := d.until(); got != want {
			t.Errorf("temporary session %d: %s", i, got)
		}
	}
	d.say(`{"op":"send","id":"u","scope":"temp","session":"t0","input":"%s"}`, strings.Repeat("x", 400))
	if got := d.until(); got != "error ENOSPC, done error" {
		t.Errorf("a temporary session that is full: %s", got)
	}
	r := a.next()
	a.say(`{"op":"delta","run":%q,"text":"%s"}`, r.Run, strings.Repeat("x", 101))
	for f := c.next(); f.Type != frames.Fail; f = c.next() {
		if f.Type == "EOF" {
			t.Fatal("an answer that is too long ended the connection")
		}
	}
}

// A temporary session is one of the store in memory, and ends with its connection, not with another that uses it.
func TestTemps(t *testing.T) {
	b := newBench(t, DefaultLimits())
	c, other := b.dial(), b.dial()
	for _, e := range []*end{c, other} {
		e.say(`{"op":"send","id":"m%p","scope":"temp","session":"one","input":"hello"}`, e)
		if got := e.until(); got != "start, error EHOSTDOWN, done error" {
			t.Fatal(got)
		}
	}
	uid := uint32(os.Getuid())
	cont, err := b.hub.store.Memory(uid).Container(fmt.Sprintf("home/%d/agent/coder", uid))
	if err != nil {
		t.Fatal(err)
	}
	x, err := cont.Session("one")
	if err != nil {
		t.Fatal(err)
	}
	if pack, err := x.View("context/pack.md"); err != nil || strings.Count(string(pack), "hello") != 2 {
		t.Errorf("its pack: %s, %v", pack, err)
	}
	if b.hub.store.Memory(uid+1) != nil {
		t.Error("another user has one")
	}
	other.conn.Close()
	time.Sleep(50 * time.Millisecond)
	if x.Over() {
		t.Error("it ended with a connection that did not make it")
	}
	c.conn.Close()
	for range 1000 {
		if x.Over() && b.temps() == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("it outlived its connection")
}

// Who follows a temporary session, however slowly, gets all of it before its end.
func TestTempIsFollowedToItsEnd(t *testing.T) {
	b := newBench(t, DefaultLimits())
	c, slow := b.dial(), b.dial()
	c.say(`{"op":"send","id":"m","scope":"temp","input":"first"}`)
	c.until()
	slow.say(`{"op":"follow","scope":"temp"}`)
	if r := slow.next(); r.Type != frames.Start {
		t.Fatalf("%+v", r)
	}
	const more = 150
	for i := range more {
		c.say(`{"op":"send","id":"m%d","scope":"temp","input":"%s"}`, i, strings.Repeat("x", 100<<10))
		if got := c.until(); got != "start, error EHOSTDOWN, done error" {
			t.Fatal(got)
		}
	}
	c.conn.Close()
	for range 1000 {
		if b.hub.store.Temporary() == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	n, ends := 0, 0
	for {
		r := slow.next()
		switch {
		case r.Type == frames.Message:
			if n++; r.N != n {
				t.Fatalf("record %d came as the %d.", r.N, n)
			}
			continue
		case r.Type == frames.Done && r.Run != "":
			ends++
			continue
		case r.Type == frames.Fail && r.Run != "":
			continue
		}
		if r.Type != frames.Done || r.Status != frames.StatusCancelled {
			t.Errorf("the end: %+v", r)
		}
		break
	}
	if n != more+1 {
		t.Errorf("%d records of %d, %d ends of runs", n, more+1, ends)
	}
}

// Everybody at once, with connections that break off anywhere: what was answered is recorded, once, and nothing is left.
func TestStorm(t *testing.T) {
	b := newBench(t, DefaultLimits())
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for k := range 15 {
				a := b.dial()
				a.say(`{"op":"serve"}`)
				for range 3 + (i+k)%5 {
					r := a.next()
					a.say(`{"op":"delta","run":%q,"text":"some "}`, r.Run)
					if k%4 != 0 {
						a.say(`{"op":"done","run":%q}`, r.Run)
					}
					if r.Type == "EOF" || k%3 == 0 {
						break
					}
					_ = a.conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
				}
				a.conn.Close()
			}
		})
	}
	var mu sync.Mutex
	started := map[string]bool{}
	for i := range 6 {
		wg.Go(func() {
			for k := range 12 {
				c := b.dial()
				s := fmt.Sprintf("s%d", (i+k)%3)
				if k%5 == 0 {
					c.say(`{"op":"follow","session":%q}`, s)
				}
				id := fmt.Sprintf("c%d-%d", i, k/2) // each twice
				s = fmt.Sprintf("s%d", i%3)
				c.say(`{"op":"send","id":%q,"session":%q,"input":"x"}`, id, s)
				if k%3 == 0 {
					c.say(`{"op":"cancel","id":%q,"session":%q}`, id, s)
				}
				_ = c.conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
				for {
					r := c.next()
					if r.Type == frames.Start && r.ID == id {
						mu.Lock()
						started[s+" "+id] = true
						mu.Unlock()
						if k%4 == 3 {
							break
						}
					}
					if r.Type == "EOF" || r.Type == frames.Done && r.ID == id {
						break
					}
				}
				c.conn.Close()
			}
		})
	}
	wg.Wait()
	for key := range started {
		s, id, _ := strings.Cut(key, " ")
		c := b.dial()
		c.say(`{"op":"resume","session":%q}`, s)
		n := 0
		for r := c.next(); r.Type != frames.Done && r.Type != "EOF"; r = c.next() {
			if r.RecordID == id {
				n++
			}
		}
		c.conn.Close()
		if n != 1 {
			t.Errorf("%s was answered, and is recorded %d times", key, n)
		}
	}
}

// BenchmarkSend measures a message, its record, the agent's answer and its record, all on disk.
func BenchmarkSend(b *testing.B) {
	w := newBench(b, DefaultLimits())
	a, c := w.dial(), w.dial()
	a.say(`{"op":"serve"}`)
	a.next()
	go func() {
		for r := a.next(); r.Type != "EOF"; r = a.next() {
			a.say(`{"op":"done","run":%q,"text":"answer"}`, r.Run)
		}
	}()
	for i := 0; b.Loop(); i++ {
		c.say(`{"op":"send","id":"m%d","input":"x"}`, i)
		if got := c.until(); got != "start, message, done ok" {
			b.Fatal(got)
		}
	}
}

// BenchmarkPing measures a frame there and back.
func BenchmarkPing(b *testing.B) {
	c := newBench(b, DefaultLimits()).dial()
	for b.Loop() {
		c.say(`{"op":"ping"}`)
		c.next()
	}
}
