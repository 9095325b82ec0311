package tests

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ctxfs/internal/quality/made"
	"ctxfs/internal/quality/procs"
	"ctxfs/tests/testhost"
)

const (
	loadUsers    = 4
	loadWriters  = 64
	loadReaders  = 64
	loadSessions = 200
	// loadRecords is how long a session becomes before it is deleted and begun anew: the store, and so the daemon, has after a
	// while as much to hold at each moment.
	loadRecords = 500
)

// Load: 64 writers and 64 readers of packs, of four users, on 200 sessions, for CTXFS_TEST_LOAD (a duration), with all processors
// and with one: no error, nobody waits forever, each line is there once and in its writer's order, and memory stays level.
func TestLoad(t *testing.T) {
	testhost.Rare(t)
	if os.Getuid() != 0 {
		t.Skip("SKIP: only root can act as several users")
	}
	last := 4 * time.Second
	if text := os.Getenv("CTXFS_TEST_LOAD"); text != "" {
		var err error
		if last, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, procs := range []string{"", "1"} {
		t.Run("GOMAXPROCS="+procs, func(t *testing.T) {
			t.Setenv("GOMAXPROCS", procs)
			m := newMount(t, "--allow-other")
			openPath(t, filepath.Dir(m.point))
			openPath(t, filepath.Dir(m.store))
			newLoad(m).run(last)
		})
	}
}

// load is a daemon with more to do than it can do at once.
type load struct {
	m     *mount
	slots []*slot
	stop  atomic.Bool
	done  atomic.Int64 // what was done till now

	mu    sync.Mutex
	times map[string][]time.Duration
}

// slot is a place for one session after another.
type slot struct {
	dir   string         // with a %d for how many were there before
	mu    sync.RWMutex   // held to write while the session is replaced
	round int            // how many were there before
	count []atomic.Int64 // the records of each writer in it
}

func newLoad(m *mount) *load {
	l := &load{m: m, times: map[string][]time.Duration{}}
	for i := range loadSessions {
		dir := fmt.Sprintf("%s/home/%d/agent/coder/session/s%d-%%d", m.point, loadUser(i), i)
		l.slots = append(l.slots, &slot{dir: dir, count: make([]atomic.Int64, loadWriters)})
	}
	return l
}

func loadUser(i int) int { return 64001 + i%loadUsers }

func (s *slot) path() string { return fmt.Sprintf(s.dir, s.round) }

// any gives one of a user's slots.
func (l *load) any(user int) *slot {
	return l.slots[rand.IntN(loadSessions/loadUsers)*loadUsers+user%loadUsers]
}

func (l *load) run(last time.Duration) {
	var wg sync.WaitGroup
	for i := range loadUsers { // first, so that all else finds sessions
		l.start(&wg, i, func(*clock) error { return l.begin(i) })
	}
	wg.Wait()
	for i := range loadWriters {
		text := made.New(loadRecords)
		l.start(&wg, i, func(c *clock) error { return l.write(c, i, text) })
	}
	for i := range loadReaders {
		l.start(&wg, i, func(c *clock) error { return l.read(c, i) })
	}
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	level := l.watch(last, ended)
	for i := range loadUsers {
		l.start(&wg, i, func(*clock) error { return l.checkAll(i) })
	}
	wg.Wait()
	l.tell(level)
}

// start has a part of the load run as user i, which is a thread's property (setfsuid(2)), so that the thread ends with it.
func (l *load) start(wg *sync.WaitGroup, i int, part func(c *clock) error) {
	wg.Go(func() {
		runtime.LockOSThread()
		c := &clock{l: l, times: map[string][]time.Duration{}}
		defer c.end()
		err := errors.Join(unix.Setfsgid(loadUser(i)), unix.Setfsuid(loadUser(i)))
		if err == nil {
			err = part(c)
		}
		if err != nil {
			l.m.t.Errorf("user %d: %v", loadUser(i), err)
			l.stop.Store(true)
		}
	})
}

// begin makes the sessions of a user.
func (l *load) begin(user int) error {
	for i, s := range l.slots {
		if i%loadUsers != user {
			continue
		}
		if err := os.MkdirAll(s.path(), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// write appends to one session after the other, and begins those anew that became long.
func (l *load) write(c *clock, i int, text *made.Maker) error {
	for !l.stop.Load() {
		s := l.any(i)
		long, err := s.append(c, i, text)
		if err == nil && long {
			err = s.renew(c)
		}
		if err != nil {
			return fmt.Errorf("writer %d: %w", i, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

// append adds some lines as one agent's turn does, and tells whether the session is long by now.
func (s *slot) append(c *clock, writer int, text *made.Maker) (long bool, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f, err := os.OpenFile(s.path()+"/messages.jsonl", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return false, err
	}
	defer f.Close()
	for range 3 {
		n := s.count[writer].Load()
		line := fmt.Sprintf(`{"name":"w%d-%d",%s`, writer, n, text.Next()[1:])
		if err := c.time("append", func() error { _, err := f.WriteString(line); return err }); err != nil {
			return false, err
		}
		s.count[writer].Add(1)
	}
	total := int64(0)
	for i := range s.count {
		total += s.count[i].Load()
	}
	return total > loadRecords, f.Close()
}

// renew checks a session and has a new one in its place.
func (s *slot) renew(c *clock) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(); err != nil {
		return err
	}
	if err := c.time("delete", s.delete); err != nil {
		return fmt.Errorf("delete %s: %w", s.path(), err)
	}
	s.round++
	s.count = make([]atomic.Int64, loadWriters)
	return os.MkdirAll(s.path(), 0o700)
}

// delete deletes the session as `ctxfs session delete` does.
func (s *slot) delete() error {
	for {
		err := unix.Setxattr(s.path(), "user.ctxfs.do", []byte("delete"), 0)
		if !errors.Is(err, unix.EBUSY) {
			return err
		}
		time.Sleep(time.Millisecond) // RELEASE comes after close(2)
	}
}

// check tells whether a session holds what was written to it, each writer's lines once and in order.
func (s *slot) check() error {
	log, err := os.ReadFile(s.path() + "/messages.jsonl")
	if err != nil {
		return err
	}
	next := make([]int64, loadWriters)
	for line := range strings.Lines(string(log)) {
		var writer int
		var n int64
		if _, err := fmt.Sscanf(line, `{"name":"w%d-%d",`, &writer, &n); err != nil || !strings.HasSuffix(line, "}\n") || n != next[writer] {
			return fmt.Errorf("%s: a line %.60q, %d were there of its writer (%v)", s.path(), line, next[writer], err)
		}
		next[writer]++
	}
	for i := range next {
		if n := s.count[i].Load(); n != next[i] {
			return fmt.Errorf("%s: %d lines of writer %d, not %d", s.path(), next[i], i, n)
		}
	}
	return nil
}

func (l *load) checkAll(user int) error {
	for i, s := range l.slots {
		if i%loadUsers != user {
			continue
		}
		if err := s.check(); err != nil {
			return err
		}
	}
	return nil
}

// read reads packs, and now and then what else people look at.
func (l *load) read(c *clock, i int) error {
	for k := 0; !l.stop.Load(); k++ {
		s := l.any(i)
		what, file := "pack.md", "context/pack.md"
		switch k % 8 {
		case 3:
			what, file = "pack@8000.md", "context/pack@8000.md"
		case 5:
			what, file = "the log", "messages.jsonl"
		case 7:
			what, file = "a recall", "context/recall/which file was read"
		}
		if err := s.read(c, what, file); err != nil {
			return fmt.Errorf("reader %d: %w", i, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

func (s *slot) read(c *clock, what, file string) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return c.time(what, func() error {
		f, err := os.Open(s.path() + "/" + file)
		if err != nil {
			return err
		}
		defer f.Close()
		text, err := io.ReadAll(f)
		if err == nil && strings.HasSuffix(file, ".jsonl") && len(text) > 0 && text[len(text)-1] != '\n' {
			err = fmt.Errorf("%s ends in half a line", f.Name())
		}
		return err
	})
}

// watch waits until the time is over, and gives the daemon's memory at twelve moments of it. Whoever does nothing for a minute waits
// for good.
func (l *load) watch(last time.Duration, ended chan struct{}) (level []int64) {
	tick := time.NewTicker(last / 12)
	defer tick.Stop()
	for seen, since := int64(0), time.Now(); ; {
		select {
		case <-ended:
			return level
		case <-tick.C:
			all, _ := procs.Memory(l.m.cmd.Process.Pid)
			if level = append(level, all); len(level) == 12 {
				l.stop.Store(true)
				tick.Reset(time.Second)
			}
		}
		switch n := l.done.Load(); {
		case n != seen:
			seen, since = n, time.Now()
		case time.Since(since) > time.Minute:
			_ = l.m.cmd.Process.Kill() // else the test could not end either
			l.m.t.Fatalf("nothing was done for a minute, after %d operations", n)
		}
	}
}

// tell shows what was done and how long it took.
func (l *load) tell(level []int64) {
	l.m.t.Logf("| operation | times | p50 | p99 | max |")
	l.m.t.Logf("| --- | --- | --- | --- | --- |")
	names := make([]string, 0, len(l.times))
	for name := range l.times {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		d := l.times[name]
		slices.Sort(d)
		at := func(p float64) time.Duration { return d[int(p*float64(len(d)-1))].Round(10 * time.Microsecond) }
		l.m.t.Logf("| %s | %d | %v | %v | %v |", name, len(d), at(0.5), at(0.99), at(1))
	}
	if len(level) < 12 {
		return // it failed before
	}
	for i := range level {
		level[i] >>= 20
	}
	l.m.t.Logf("resident memory in MiB, at each twelfth: %v", level)
	// A short run is over before there is as much to hold at each moment.
	if early, late := slices.Max(level[4:8]), slices.Max(level[8:12]); os.Getenv("CTXFS_TEST_LOAD") != "" && late > early+early/4 {
		l.m.t.Errorf("memory grows: %d MiB at most in the second third, %d in the last", early, late)
	}
}

// clock is what one part of the load took.
type clock struct {
	l     *load
	times map[string][]time.Duration
}

func (c *clock) time(what string, f func() error) error {
	start := time.Now()
	err := f()
	c.times[what] = append(c.times[what], time.Since(start))
	c.l.done.Add(1)
	return err
}

func (c *clock) end() {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	for what, d := range c.times {
		c.l.times[what] = append(c.l.times[what], d...)
	}
}
