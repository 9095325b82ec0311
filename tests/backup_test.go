package tests

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// documented gives the commands of a part of docs/backup.md: what is indented behind the comment that names it.
func documented(t *testing.T, part string) string {
	t.Helper()
	_, rest, ok := strings.Cut(read(t, "../docs/backup.md"), "<!-- "+part+" -->\n")
	if !ok {
		t.Fatalf("docs/backup.md has no part %q", part)
	}
	var b strings.Builder
	for line := range strings.Lines(rest) {
		switch cmd, is := strings.CutPrefix(line, "    "); {
		case is:
			b.WriteString(cmd)
		case strings.TrimSpace(line) != "":
			return b.String()
		}
	}
	return b.String()
}

// follow runs the commands of a part, with these values instead of those of the page.
func follow(t *testing.T, part string, values ...string) string {
	t.Helper()
	text := documented(t, part)
	if !strings.Contains(documented(t, "set"), "store=") || text == "" {
		t.Fatalf("docs/backup.md: %q", part)
	}
	c := exec.Command("bash", "-e", "-c", strings.ReplaceAll(text, "/tmp/fix-42.tar", t.TempDir()+"/fix-42.tar"))
	c.Env = append(append(os.Environ(), "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH")), values...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", part, err, text, out)
	}
	return string(out)
}

// needs skips a test where a program is missing.
func needs(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			skip(t, "%v", err)
		}
	}
}

// live is a mount in use: each session has a writer who numbers lines.
type live struct {
	*mount
	crowd
	names   []string
	written []atomic.Int64 // lines whose write(2) returned, by session
	filled  atomic.Int64   // sessions idle0 and so on that have lines
	moving  atomic.Int64   // times that a session was archived, restored or renamed
	busy    atomic.Int64   // times that this was refused
}

const (
	backedUp  = 6   // sessions that are written to
	idle      = 40  // that are not
	idleLines = 300 // that each of these has
)

func newLive(t *testing.T) *live {
	l := &live{mount: newMount(t), written: make([]atomic.Int64, backedUp)}
	l.crowd.t = t
	for i := range idle {
		l.session(fmt.Sprintf("idle%d", i))
	}
	for i := range backedUp {
		name := fmt.Sprintf("s%d", i)
		l.names = append(l.names, name)
		dir := l.session(name)
		l.crowd.run(name, func(n int) error {
			time.Sleep(time.Duration(rand.IntN(4000)) * time.Microsecond)
			text := message("user", fmt.Sprint("n", n))
			if n%7 == 0 {
				text = message("user", fmt.Sprint("n", n)) + message("assistant", strings.Repeat(fmt.Sprint("long ", n), 2000))
			}
			if err := tryAdd(dir+"/messages.jsonl", text); err != nil {
				return err
			}
			l.written[i].Add(1)
			if n%50 == 49 { // its pack is a blob then
				return tryAdd(dir+"/context/injections.jsonl", `{"target":"model","injection_point":"system_prompt"}`+"\n")
			}
			return write(dir+"/context/budget", fmt.Sprintf("%d\n", 2000+n%1000))
		}, nil)
	}
	l.crowd.run("archive and restore", l.move, nil)
	l.crowd.run("gc", func(int) error {
		out, err := exec.Command(program, "gc", "--store", l.store, "--archive-after", "0s").CombinedOutput()
		if code := exitCode(err); code != 0 && code != 10 {
			return fmt.Errorf("gc: %w\n%s", err, out)
		}
		return nil
	}, nil)
	return l
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if x, ok := err.(*exec.ExitError); ok {
		return x.ExitCode()
	}
	return -1
}

// move archives, restores or renames a session that nobody writes to.
func (l *live) move(n int) error {
	i := rand.IntN(idle)
	dir := filepath.Join(l.agent, "session", fmt.Sprintf("idle%d", i))
	if n < idle {
		err := tryAdd(filepath.Join(l.agent, "session", fmt.Sprintf("idle%d", n), "messages.jsonl"), strings.Repeat(message("user", "idle "+fmt.Sprint(n)), idleLines))
		l.filled.Store(int64(n + 1))
		return err
	}
	var err error
	switch n % 3 {
	case 0:
		err = exec.Command(program, "session", "archive", dir).Run()
	case 1:
		err = exec.Command(program, "session", "restore", dir).Run()
	default: // to and fro, past where a copy has come to
		other := filepath.Join(l.agent, "session", fmt.Sprintf("a-idle%d", i))
		if err = os.Rename(dir, other); err == nil {
			for err = syscall.EBUSY; err == syscall.EBUSY; { // a copy began meanwhile
				if err = syscall.Rename(other, dir); err == syscall.EBUSY {
					time.Sleep(time.Millisecond)
				}
			}
			if err != nil {
				return err
			}
		}
	}
	if l.moving.Add(1); err != nil {
		l.busy.Add(1)
	}
	return nil
}

// acknowledged is what is known to be written.
type acknowledged struct {
	lines  []int64 // of each session that is written to
	filled int     // idle sessions
}

func (l *live) acknowledged() (a acknowledged) {
	for i := range l.written {
		a.lines = append(a.lines, l.written[i].Load())
	}
	a.filled = int(l.filled.Load())
	return a
}

// restored checks a store that was restored: it verifies, and its sessions have at least the lines that were written when the copy
// began, each once and in order. It takes appends, and has packs.
func (l *live) restored(t *testing.T, store string, least acknowledged) {
	t.Helper()
	run(t, "verify", "--store", store)
	m := &mount{t: t, point: filepath.Join(t.TempDir(), "ctx"), store: store}
	must(t, os.MkdirAll(m.point, 0o755))
	m.agent = strings.Replace(l.agent, l.point, m.point, 1)
	m.start()
	defer m.finish()
	for i, name := range l.names {
		dir := filepath.Join(m.agent, "session", name)
		n := countNumbered(t, dir+"/messages.jsonl")
		if n < int(least.lines[i]) {
			t.Errorf("%s has %d lines, %d were written when the copy began", name, n, least.lines[i])
		}
		add(t, dir+"/messages.jsonl", message("user", fmt.Sprint("n", n)))
		if got := countNumbered(t, dir+"/messages.jsonl"); got != n+1 {
			t.Errorf("%s: %d lines after an append to %d", name, got, n)
		}
		if pack := read(t, dir+"/context/pack.md"); !strings.Contains(pack, fmt.Sprint("n", n)) {
			t.Errorf("%s: the pack has not what was just written: %.200q", name, pack)
		}
	}
	for i := range least.filled {
		dirs, err := filepath.Glob(fmt.Sprintf("%s/session/*idle%d", m.agent, i))
		if err != nil || len(dirs) != 1 {
			t.Errorf("idle%d is in %v, %v", i, dirs, err)
			continue
		}
		if got := strings.Count(read(t, dirs[0]+"/messages.jsonl"), "\n"); got != idleLines {
			t.Errorf("idle%d has %d lines", i, got)
		}
	}
}

// countNumbered counts the lines n0, n1, ... of a log, which must follow each other.
func countNumbered(t *testing.T, log string) int {
	t.Helper()
	next := 0
	for line := range strings.Lines(read(t, log)) {
		if strings.Contains(line, `"long`) || strings.Contains(line, `"content":"long`) {
			continue
		}
		if line != message("user", fmt.Sprint("n", next)) {
			t.Fatalf("%s: line n%d is %.60q", log, next, line)
		}
		next++
	}
	return next
}

// A store in use is copied as docs/backup.md says, and restored: what was written is there.
func TestBackup(t *testing.T) {
	needs(t, "rsync", "flock", "tar")
	l := newLive(t)
	time.Sleep(time.Second)
	copied := filepath.Join(t.TempDir(), "copy")
	for round := range 2 {
		least := l.acknowledged()
		follow(t, "live", "store="+l.store, "copy="+copied)
		time.Sleep(300 * time.Millisecond)
		store := filepath.Join(t.TempDir(), "restored")
		follow(t, "restore", "store="+store, "copy="+copied)
		l.restored(t, store, least)
		t.Logf("round %d: %+v at least; sessions archived, restored or renamed %d times, refused %d times", round, least, l.moving.Load(), l.busy.Load())
	}
	least := l.acknowledged()
	follow(t, "tar", "store="+l.store, "copy="+copied)
	store := filepath.Join(t.TempDir(), "untarred")
	follow(t, "untar", "store="+store, "copy="+copied)
	l.restored(t, store, least)
	l.crowd.end()
	if l.moving.Load() == 0 {
		t.Error("no session was archived, restored or renamed meanwhile")
	}
}

// A store that is being copied moves nothing, and takes appends.
func TestWhileCopied(t *testing.T) {
	needs(t, "flock")
	m := newMount(t)
	dir := m.session("s")
	add(t, dir+"/messages.jsonl", message("user", "before"))
	lock, err := os.OpenFile(m.store+"/.ctxfs/backup.lock", os.O_RDWR|os.O_CREATE, 0o600)
	must(t, err)
	must(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	for _, order := range []string{"archive", "restore"} {
		out, err := exec.Command(program, "session", order, dir).CombinedOutput()
		if exitCode(err) != 1 || !strings.Contains(string(out), "being copied") && !strings.Contains(string(out), "busy") {
			t.Errorf("%s: %v, %s", order, err, out)
		}
	}
	wants(t, "rename", os.Rename(dir, dir+"2"), syscall.EBUSY)
	if out, err := exec.Command(program, "gc", "--store", m.store).CombinedOutput(); exitCode(err) != 10 || !strings.Contains(string(out), "being copied") {
		t.Errorf("gc: %v, %s", err, out)
	}
	add(t, dir+"/messages.jsonl", message("user", "meanwhile"))
	must(t, write(dir+"/state", "done\n"))
	m.session("another")
	add(t, dir+"/context/injections.jsonl", `{"target":"model","injection_point":"system_prompt"}`+"\n")
	must(t, lock.Close())
	run(t, "session", "archive", dir)
	must(t, os.Rename(dir, dir+"2"))
	run(t, "gc", "--store", m.store)
	if got := read(t, dir+"2/messages.jsonl"); got != message("user", "before")+message("user", "meanwhile") {
		t.Errorf("%q", got)
	}
}

// One session is exported and restored as docs/backup.md says, in a mount and from a copy.
func TestBackupOfASession(t *testing.T) {
	m := newMount(t)
	dir := m.session("fix-42")
	add(t, dir+"/messages.jsonl", message("user", "hello"))
	must(t, write(dir+"/context/budget", "4000\n"))
	follow(t, "session", "session="+dir)
	if got := read(t, dir+"-again/messages.jsonl") + read(t, dir+"-again/context/budget"); got != message("user", "hello")+"4000\n" {
		t.Errorf("%q", got)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if out, err := exec.Command("cp", "-a", m.store, copied).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	follow(t, "session from a copy", "copy="+copied, fmt.Sprintf("uid=%d", os.Getuid()))
}
