package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"ctxfs/internal/top"
)

// topRun is ctxfs top on a terminal.
type topRun struct {
	*terminal
	t          *testing.T
	c          *exec.Cmd
	rows, cols int
	from       int // of what the terminal was told: where the size became that
}

func (m *mount) top(rows, cols int, env ...string) *topRun {
	m.t.Helper()
	x := &topRun{terminal: newTerminal(m.t, uint16(rows), uint16(cols)), t: m.t, rows: rows, cols: cols}
	x.c = exec.Command(program, "top", "--mount", m.point, "--interval", "150ms")
	x.c.Env = append(os.Environ(), append([]string{"TERM=xterm-256color", "LANG=C.UTF-8", "NO_COLOR="}, env...)...)
	x.run(x.c)
	m.t.Cleanup(func() { _ = x.c.Process.Kill() })
	return x
}

// shows waits until the screen has a line with all of these.
func (x *topRun) shows(parts ...string) {
	x.t.Helper()
	var lines []string
	for range 500 {
		var title string
		var bells int
		lines, title, bells = x.screen(x.from, x.rows, x.cols)
		if title != "" || bells != 0 {
			x.t.Fatalf("the terminal got the title %q, and %d bells", title, bells)
		}
		for _, l := range lines {
			if hasAll(l, parts) {
				return
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	x.t.Fatalf("no line with %q within ten seconds:\n%s", parts, strings.Join(lines, "\n"))
}

func hasAll(text string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}

// leaves waits for the end, and checks that the terminal is as it was.
func (x *topRun) leaves(before any, code int) string {
	x.t.Helper()
	done := make(chan error, 1)
	go func() { done <- x.c.Wait() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		x.t.Fatal("it does not leave")
	}
	if got := x.c.ProcessState.ExitCode(); got != code {
		x.t.Errorf("exit code %d, not %d: %q", got, code, x.said())
	}
	if after := any(x.modes()); after != before {
		x.t.Errorf("the terminal's modes are %+v, not %+v", after, before)
	}
	said := x.end()
	for _, mode := range []struct{ name, on, off string }{
		{"the other screen", "\x1b[?1049h", "\x1b[?1049l"}, {"the hidden cursor", "\x1b[?25l", "\x1b[?25h"}, {"pasting", "\x1b[?2004h", "\x1b[?2004l"},
	} {
		if on := strings.LastIndex(said, mode.on); on > strings.LastIndex(said, mode.off) {
			x.t.Errorf("%s is left: %q", mode.name, said[on:])
		}
	}
	return said
}

// A session's tokens, its pack's state and its growth are on the screen, keys do what the help says, and q leaves all as it was.
func TestTop(t *testing.T) {
	m := newMount(t, "--budget", "3000")
	dir := m.session("fix-42")
	m.session("other")
	x := m.top(24, 110)
	before := m.plainModes()
	x.shows("coder/fix-42", "none", " - ")
	add(t, dir+"/messages.jsonl", conversation(20))
	x.shows("growing")
	x.shows("coder/fix-42", "none")
	tokens := attribute(t, dir+"/context/pack.md", "user.ctxfs.tokens")
	x.shows("coder/fix-42", tokens+"/3000", "ready", "█")
	add(t, dir+"/messages.jsonl", message("user", "and now?"))
	x.shows("coder/fix-42", tokens+"/3000", "stale")
	x.press("s")
	x.shows("by tokens")
	x.press("/oth")
	x.shows("filter: oth", "1 of 2")
	x.press("\x7f\x7f\x7fzzz")
	x.shows("filter: zzz", "0 of 2")
	x.press("\x1b")
	x.shows("coder/other")
	x.press("q")
	said := x.leaves(before, 0)
	if !regexp.MustCompile(`\x1b\[3[0-7]m`).MatchString(said) {
		t.Error("there is no colour")
	}
	if got := m.status("packs_built"); got != "1" {
		t.Errorf("%s packs were built, not the one that was read", got)
	}
}

// plainModes are those of a terminal that nobody has used.
func (m *mount) plainModes() any { return newTerminal(m.t, 24, 80).modes() }

func attribute(t *testing.T, file, name string) string {
	t.Helper()
	out, err := command("getfattr", "-n", name, "--only-values", file)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A narrow terminal shows what says most; a title that tries to speak to the terminal, and a folder that does, are only text; with
// NO_COLOR nothing is in colour.
func TestTopNarrowHostileColourless(t *testing.T) {
	notUnderRace(t)
	m := newMount(t)
	dir := m.session("evil")
	var meta map[string]any
	if err := json.Unmarshal([]byte(read(t, dir+"/meta.json")), &meta); err != nil {
		t.Fatal(err)
	}
	meta["title"] = "\x1b]0;gotcha\x07\x1b[31m\u009b2J\u202eback\nline"
	data, err := json.Marshal(meta)
	if err == nil {
		err = write(dir+"/meta.json", string(data)+"\n")
	}
	if err != nil {
		t.Fatal(err)
	}
	x := m.top(12, 150, "NO_COLOR=1")
	before := m.plainModes()
	x.shows("coder/evil", `\x1b]0;gotcha\a\x1b[31m\u009b2J`)
	x.from, x.rows, x.cols = len(x.said()), 8, 40
	x.resize(8, 40)
	x.press("\x0c")
	x.shows("coder/evil", " -")
	for _, l := range func() []string { l, _, _ := x.screen(x.from, x.rows, x.cols); return l }() {
		if strings.Contains(l, "ABOUT") || strings.Contains(l, "gotcha") {
			t.Errorf("there is no room for %q", l)
		}
	}
	x.press("\x03") // Ctrl-C
	said := x.leaves(before, 0)
	if m := regexp.MustCompile(`\x1b\[([0-9;]*;)?[349][0-8](;[0-9;]*)?m`).FindString(said); m != "" {
		t.Errorf("a colour in spite of NO_COLOR: %q", m)
	}
	out := run(t, "top", "--mount", m.point, "--once", "--interval", "0")
	if !strings.Contains(out, `\x1b]0;gotcha\a\x1b[31m\u009b2J\u202eback\nline`) || strings.ContainsAny(out, "\x1b\x07\u009b\u202e") || strings.Count(out, "\n") != 2 {
		t.Errorf("the table: %q", out)
	}
}

// However it ends, the terminal is as it was: at signals, and when the mount goes away.
func TestTopEnds(t *testing.T) {
	notUnderRace(t)
	m := newMount(t)
	m.session("s")
	before := m.plainModes()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		x := m.top(10, 80)
		x.shows("coder/s")
		if err := x.c.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		x.leaves(before, 0)
	}
	x := m.top(10, 80)
	x.shows("coder/s")
	m.stop()
	said := x.leaves(before, 11)
	if !strings.Contains(said, "no ctxfs is mounted") {
		t.Errorf("it says %q", said)
	}
	m.start()
}

// Of many sessions only those are looked at that changed, or are on the screen; none is woken for it.
func TestTopManySessions(t *testing.T) {
	notUnderRace(t)
	m := newMount(t)
	const many = 500
	for i := range many {
		m.session(fmt.Sprintf("s%04d", i))
	}
	m.stop()
	m.start()
	l := top.New(m.point, os.Getuid(), 0)
	look := func(want int, shown ...string) {
		t.Helper()
		before := l.Closely()
		if err := l.Look(time.Now(), shown); err != nil {
			t.Fatal(err)
		}
		if got := l.Closely() - before; got > want {
			t.Errorf("%d sessions were looked at, not %d", got, want)
		}
	}
	look(many)
	if n := len(l.Rows()); n != many {
		t.Errorf("%d rows", n)
	}
	if n := m.openLogs(); n != 0 {
		out, _ := exec.Command("ls", "-l", fmt.Sprintf("/proc/%d/fd", m.worker())).CombinedOutput()
		t.Errorf("%d logs are open\n%s", n, out)
	}
	time.Sleep(20 * time.Millisecond) // the clock of files is coarse
	add(t, filepath.Join(m.agent, "session/s0007/messages.jsonl"), message("user", "hi"))
	look(3)
	time.Sleep(20 * time.Millisecond)
	add(t, filepath.Join(m.agent, "session/s0011/messages.jsonl"), message("user", "hi"))
	look(4, strings.TrimPrefix(m.agent, m.point+"/")+"/session/s0500")
	rows := top.Select(l.Rows(), "", "activity")
	if rows[0].Name != "coder/s0011" || rows[0].RecordsPerSecond == 0 || rows[1].Name != "coder/s0007" || rows[1].RecordsPerSecond != 0 {
		t.Errorf("first are %+v", rows[:2])
	}
	run(t, "session", "delete", filepath.Join(m.agent, "session/s0003"), "--yes")
	look(4)
	if n := len(l.Rows()); n != many-1 {
		t.Errorf("%d rows", n)
	}
}

// Ctrl-Z stops it, with the terminal as it was for the shell, and fg goes on.
func TestTopPause(t *testing.T) {
	notUnderRace(t)
	m := newMount(t)
	m.session("s")
	x := &topRun{terminal: newTerminal(t, 12, 80), t: t, rows: 12, cols: 80}
	x.c = exec.Command("bash", "--norc", "-c", `set -m; "$0" top --mount "$1"; stty -a | grep -q ' echo ' && echo paused; read x; fg >/dev/null; echo left`, program, m.point)
	x.c.Env = append(os.Environ(), "TERM=xterm-256color", "LANG=C.UTF-8")
	before := m.plainModes()
	x.run(x.c)
	t.Cleanup(func() { _ = x.c.Process.Kill() })
	x.shows("coder/s")
	x.press("\x1a")
	x.shows("paused")
	x.from = len(x.said())
	x.press("\n")
	x.shows("coder/s")
	x.press("q")
	x.shows("left")
	x.leaves(before, 0)
}
