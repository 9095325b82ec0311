package posix

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// A case is a list of system calls and what each gives. It runs in an empty folder of alice's. In testdata, a line
//
//	carol rename a b = EPERM
//
// is a call by carol that is to give EPERM; no user is alice, and no "= ..." is "= ok". calls_test.go has the calls. In a case
// for two users, the folder is in a place of their group.
type script struct {
	name  string
	steps []step
}

type step struct {
	user string
	call string
	args []string
	want string
}

func (s step) String() string {
	text := strings.Join(append([]string{s.call}, s.args...), " ")
	if s.user != "alice" {
		text = s.user + " " + text
	}
	return text
}

// shared tells whether carol takes part.
func (s script) shared() bool {
	for _, st := range s.steps {
		if st.user == "carol" {
			return true
		}
	}
	return false
}

// readScripts reads the cases of a file: "case NAME", and its steps in the lines below.
func readScripts(text string) (list []script, err error) {
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		name, isCase := strings.CutPrefix(line, "case ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case isCase:
			list = append(list, script{name: name})
		case len(list) == 0:
			return nil, fmt.Errorf("line %d stands in no case", i+1)
		default:
			c := &list[len(list)-1]
			c.steps = append(c.steps, readStep(line))
		}
	}
	return list, nil
}

func readStep(line string) step {
	s := step{user: "alice", want: "ok"}
	if call, want, ok := strings.Cut(line, " = "); ok {
		line, s.want = call, want
	}
	words := strings.Fields(line)
	switch words[0] {
	case "root", "carol":
		s.user, words = words[0], words[1:]
	}
	s.call, s.args = words[0], words[1:]
	return s
}

// actor is a user's thread, with a working directory and a umask of its own.
type actor struct{ jobs chan func() }

func newActor(uid int) *actor {
	a := &actor{make(chan func())}
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends here
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			panic(err)
		}
		if uid != root {
			become(uid, []uint32{uint32(uid), team})
		}
		for job := range a.jobs {
			job()
		}
	}()
	return a
}

func (a *actor) do(f func()) {
	done := make(chan struct{})
	a.jobs <- func() { defer close(done); f() }
	<-done
}

// stage is where the cases of one place run, one after the other.
type stage struct {
	dir    string
	actors map[string]*actor
	n      int
}

func newStage(dir string) *stage {
	return &stage{dir: dir, actors: map[string]*actor{"root": newActor(root), "alice": newActor(alice), "carol": newActor(carol)}}
}

func (s *stage) close() {
	for _, a := range s.actors {
		close(a.jobs)
	}
}

// deviation is a step that gave something else than the table says.
type deviation struct {
	step step
	got  string
}

func (d *deviation) String() string {
	if d == nil {
		return "none"
	}
	return fmt.Sprintf("%v = %s", d.step, d.got)
}

// run plays a case up to the first step that deviates.
func (s *stage) run(c script) (*deviation, error) {
	s.n++
	dir := filepath.Join(s.dir, fmt.Sprintf("case%d", s.n))
	var err error
	s.actors["alice"].do(func() {
		unix.Umask(0o022)
		if err = unix.Mkdir(dir, 0o755); err == nil {
			err = unix.Chmod(dir, 0o755) // without the set-group-id bit of a share
		}
	})
	if err != nil {
		return nil, fmt.Errorf("mkdir %s: %w", dir, err)
	}
	p := &play{held: map[string]int{}, marks: map[string]unix.Stat_t{}}
	defer p.end(dir)
	for user, a := range s.actors {
		if user == "carol" && !c.shared() {
			continue
		}
		a.do(func() {
			unix.Umask(0o022)
			err = unix.Chdir(dir)
		})
		if err != nil {
			return nil, fmt.Errorf("%s: chdir %s: %w", user, dir, err)
		}
	}
	defer func() {
		for _, a := range s.actors {
			a.do(func() { _ = unix.Chdir("/") })
		}
	}()
	for _, st := range c.steps {
		call := calls()[st.call]
		if call == nil {
			return nil, fmt.Errorf("no such call: %v", st)
		}
		got := ""
		s.actors[st.user].do(func() { got = call(p, expand(st.args)) })
		if got != st.want {
			return &deviation{st, got}, nil
		}
	}
	return nil, nil
}

// play is what a case has open and remembers.
type play struct {
	held  map[string]int
	marks map[string]unix.Stat_t
	progs []*os.Process
}

func (p *play) end(dir string) {
	for _, fd := range p.held {
		unix.Close(fd)
	}
	for _, prog := range p.progs {
		_ = prog.Kill()
		_, _ = prog.Wait()
	}
	_ = os.RemoveAll(dir) // what is left is seen in the folder above
}

// expand puts names of certain lengths in.
func expand(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		for from, to := range map[string]string{
			"{name255}":  strings.Repeat("n", 255),
			"{name256}":  strings.Repeat("n", 256),
			"{path4095}": strings.Repeat("./", 2047) + "p", // the longest that fits with its NUL
			"{path4096}": strings.Repeat("./", 2047) + "pp",
			"{other}":    "/dev/shm/ctxfs-posix-other",
		} {
			a = strings.ReplaceAll(a, from, to)
		}
		out[i] = a
	}
	return out
}
