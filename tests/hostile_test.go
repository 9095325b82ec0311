package tests

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ctxfs/tests/testhost"

	"golang.org/x/sys/unix"
)

// The hostile suite: bob tries, on a system mount that root runs, what a user could try to reach alice's sessions, or to
// take the daemon from her. Carol shares a group with alice. Every attack is a row of docs/security.md.
const (
	carol = 64003
	team  = 64100 // a group of alice's and carol's
)

var updateDoc = flag.Bool("update", false, "write the tables of docs/security.md")

// attack is one thing that is tried.
type attack struct {
	name string // of the test, and in the table
	try  string // what is done, for people
	want string // what happens: an errno's name, or a few words
	do   func(w *world) string
}

// attackKind is a table of docs/security.md, and a test.
type attackKind struct {
	title   string
	attacks []attack
	heavy   bool
}

func attackKinds() []attackKind {
	return []attackKind{
		{"Other users' homes", homeAttacks(), false},
		{"Guessed names", nameAttacks(), false},
		{"Links and odd files, through the mount", linkAttacks(), false},
		{"Links and odd files, in one's own part of the store", storeAttacks(), false},
		{"Sockets", socketAttacks(), false},
		{"/proc", procAttacks(), false},
		{"Races", raceAttacks(), false},
		{"Using up the daemon", floodAttacks(), true},
		{"Files full of junk", junkAttacks(), true},
		{"Operators' commands over a hostile home", operatorAttacks(), false},
		{"Shares", shareAttacks(), false},
	}
}

func TestHostile(t *testing.T) {
	if os.Getuid() != 0 {
		skip(t, "a system mount with several users needs root")
	}
	for _, k := range attackKinds() {
		t.Run(k.title, func(t *testing.T) {
			if k.heavy {
				notUnderRace(t)
				testhost.Rare(t)
			}
			w := newWorld(t)
			for _, a := range k.attacks {
				t.Run(a.name, func(t *testing.T) {
					w.t = t
					if got := a.do(w); got != a.want {
						t.Errorf("%s:\n got %q\nwant %q", a.try, got, a.want)
					}
					w.whole()
				})
				w.t = t
			}
		})
	}
}

// The tables of docs/security.md are those of this suite.
func TestSecurityTable(t *testing.T) {
	const begin, end = "<!-- tables: go test ./tests -run TestSecurityTable -update -->\n", "<!-- end of tables -->\n"
	const name = "../docs/security.md"
	doc := read(t, name)
	i, j := strings.Index(doc, begin), strings.Index(doc, end)
	if i < 0 || j < i {
		t.Fatalf("%s has no place for the tables", name)
	}
	var b strings.Builder
	seen := map[string]bool{}
	for _, k := range attackKinds() {
		fmt.Fprintf(&b, "\n### %s\n\n| case | what is tried | what happens |\n| --- | --- | --- |\n", k.title)
		for _, a := range k.attacks {
			if seen[a.name] || strings.Contains(a.try+a.want, "|") {
				t.Errorf("%s: named twice, or not fit for a table", a.name)
			}
			seen[a.name] = true
			fmt.Fprintf(&b, "| %s | %s | %s |\n", a.name, a.try, a.want)
		}
	}
	b.WriteString("\n")
	want := doc[:i+len(begin)] + b.String() + doc[j:]
	if *updateDoc {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if doc != want {
		t.Errorf("the tables of %s are not those of the suite; write them with: go test ./tests -run TestSecurityTable -update", name)
	}
}

// world is a system mount with its users.
type world struct {
	*mount
	n      int    // appends of alice's so far
	log    string // alice's
	own    string // bob's session
	room   string // bob's agent
	share  string // alice's session in the share
	part   string // bob's part of the store
	canary string // a file of root's outside the store
	kept   string // what alice's log holds
}

const secret = "the-secret-of-alice-7f3a"

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{mount: newMount(t, "--allow-other")}
	openPath(t, filepath.Dir(w.point))
	openPath(t, filepath.Dir(w.store))
	w.canary = filepath.Join(filepath.Dir(w.store), "canary")
	must(t, os.WriteFile(w.canary, []byte("canary\n"), 0o600))
	must(t, os.MkdirAll(filepath.Join(filepath.Dir(w.store), "hidden", "there"), 0o755))
	must(t, os.Chmod(filepath.Join(filepath.Dir(w.store), "hidden"), 0o700))
	must(t, os.Mkdir(w.point+"/agent/coder.d", 0o755)) // registered: everybody finds its socket
	w.log = w.home(alice) + "/agent/coder/session/a/messages.jsonl"
	w.room = w.home(bob) + "/agent/coder"
	w.own = w.room + "/session/b"
	w.part = fmt.Sprintf("%s/home/%d", w.store, bob)
	t.Cleanup(func() { must(t, os.RemoveAll(w.part)) }) // the end verifies the store, and bob's part may be anything
	w.share = w.point + "/shared/team/agent/coder/session/s"
	run(t, "share", "create", "team", "--group", fmt.Sprint(team), "--mount", w.point)
	long := strings.Repeat("A line that stands in the log twice, "+secret+". ", 60)
	w.kept = message("user", secret) + message("assistant", long) + message("user", long)
	must(t, w.as(alice, func() error {
		return errors.Join(os.MkdirAll(filepath.Dir(w.log), 0o700), tryAdd(w.log, w.kept),
			os.MkdirAll(w.share, 0o770), tryAdd(w.share+"/messages.jsonl", message("user", "for the team")),
			os.MkdirAll(w.home(alice)+"/agent/coder/root/work", 0o700), os.WriteFile(w.home(alice)+"/agent/coder/root/work/file", []byte(secret), 0o600))
	}))
	must(t, w.as(bob, func() error {
		return errors.Join(os.MkdirAll(w.own, 0o700), tryAdd(w.own+"/messages.jsonl", message("user", "of bob")), os.MkdirAll(w.room+"/root/work", 0o700))
	}))
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) home(uid int) string { return fmt.Sprintf("%s/home/%d", w.point, uid) }

// as runs fn on a thread that is that user's for all that the kernel checks, and ends with fn. Alice and carol are of the
// team. Goroutines that fn starts are root's.
func (w *world) as(uid int, fn func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends here
		groups := []uint32{uint32(uid)}
		if uid != bob {
			groups = append(groups, team)
		}
		err := errors.New("the attack gave up")
		defer func() { done <- err }() // also when the test ends in fn
		err = become(uid, groups)
		if err == nil {
			err = fn()
		}
	}()
	return <-done
}

// become gives up root, on this thread only.
func become(uid int, groups []uint32) error {
	if no := setGroups(groups); no != 0 {
		return no
	}
	if _, _, no := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(uid), uintptr(uid), uintptr(uid)); no != 0 {
		return no
	}
	if _, _, no := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); no != 0 {
		return no
	}
	return nil
}

// whole fails the test unless alice's session, the daemon and the canary are as they should be, and alice goes on.
func (w *world) whole() {
	w.t.Helper()
	w.n++
	line := message("user", fmt.Sprintf("%s goes on: %d", secret, w.n))
	start := time.Now()
	err := w.as(alice, func() error {
		if err := tryAdd(w.log, line); err != nil {
			return err
		}
		w.kept += line
		data, err := os.ReadFile(w.log)
		if err == nil && string(data) != w.kept {
			err = errors.New("alice's log is not what she wrote")
		}
		pack, perr := os.ReadFile(filepath.Dir(w.log) + "/context/pack.md")
		if perr == nil && !strings.Contains(string(pack), secret) {
			perr = errors.New("alice's pack is not of her session")
		}
		return errors.Join(err, perr)
	})
	if err != nil {
		w.t.Errorf("alice: %v", err)
	}
	if d := time.Since(start); d > 5*time.Second {
		w.t.Errorf("alice's append and pack took %v", d)
	}
	if err := w.cmd.Process.Signal(syscall.Signal(0)); err != nil {
		w.t.Fatalf("the daemon is gone: %v", err)
	}
	st, err := os.Stat(w.canary)
	if err != nil || st.Mode() != 0o600 || st.Sys().(*syscall.Stat_t).Uid != 0 || read(w.t, w.canary) != "canary\n" {
		w.t.Errorf("the canary was touched: %v %v", st, err)
	}
	if testhost.Race && w.n%20 != 0 {
		return // verify is slow then; the end of each test verifies too
	}
	for _, p := range w.problems() {
		w.t.Errorf("verify: %s", p)
	}
}

// problems gives what verify finds, but for bob's own part.
func (w *world) problems() (list []string) {
	w.t.Helper()
	out, err := exec.Command(program, "verify", "--json", "--store", w.store).Output()
	var r struct {
		Problems []struct{ Path, Text string }
		Sessions int
	}
	if jerr := json.Unmarshal(out, &r); jerr != nil {
		return []string{fmt.Sprintf("%v %v %s", jerr, err, out)}
	}
	if r.Sessions < 3 {
		list = append(list, fmt.Sprintf("%d sessions", r.Sessions))
	}
	for _, p := range r.Problems {
		if !strings.HasPrefix(p.Path, fmt.Sprintf("home/%d", bob)) {
			list = append(list, p.Path+": "+p.Text)
		}
	}
	return list
}

// result names what a call gave.
func result(err error) string {
	if err == nil {
		return "allowed"
	}
	var no syscall.Errno
	if errors.As(err, &no) {
		return unix.ErrnoName(no)
	}
	return err.Error()
}

// asBob makes an attack of one call of bob's.
func asBob(fn func(w *world) error) func(w *world) string {
	return func(w *world) string { return result(w.as(bob, func() error { return fn(w) })) }
}

// each joins the results of several: one word when all are the same.
func each(results ...string) string {
	slices.Sort(results)
	return strings.Join(slices.Compact(results), ", ")
}

// all gives the joined results of calls of bob's.
func all(calls func(w *world) []error) func(w *world) string {
	return func(w *world) string {
		var list []string
		_ = w.as(bob, func() error {
			for _, err := range calls(w) {
				list = append(list, result(err))
			}
			return nil
		})
		return each(list...)
	}
}

// none drops a value.
func none[T any](_ T, err error) error { return err }
