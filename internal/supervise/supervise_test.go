package supervise

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// workerEnv has the test's own program be a worker, of the kind that it names.
const workerEnv = "CTXFS_TEST_WORKER"

func TestMain(m *testing.M) {
	if kind := os.Getenv(workerEnv); kind != "" {
		os.Exit(work(kind))
	}
	os.Exit(m.Run())
}

// work is a worker that serves nothing.
func work(kind string) int {
	if kind == "mute" {
		return 7
	}
	w, err := Join(3)
	if err != nil {
		return 8
	}
	switch kind {
	case "unable":
		_ = w.Failed(Failure{Code: 10, Text: "the store is another's"})
		return 10
	case "frail":
		if _, _, err := w.Mount(); err != nil {
			return 9
		}
		_ = w.Ready(true)
		return 3
	}
	if kind == "unwell" && w.File("count") != nil {
		_ = w.Failed(Failure{Code: 10, Text: "no memory"})
		return 10
	}
	n := 0
	if f := w.File("count"); f != nil {
		if _, err := fmt.Fscan(f, &n); err != nil {
			return 9
		}
	}
	if kind == "unwell once" && n > 0 {
		return unwellOnce(w, n)
	}
	if _, again, err := w.Mount(); err != nil || again != (n > 0) {
		return 9
	}
	if kind == "counting" && n == 3 {
		_ = w.Gone()
		return 0
	}
	r, wr, err := os.Pipe()
	if err != nil {
		return 9
	}
	fmt.Fprintln(wr, n+1)
	if w.Keep("count", r) != nil || w.Ready(false) != nil {
		return 9
	}
	switch kind {
	case "counting", "unwell", "unwell once":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	switch kind {
	case "loop":
		return 2
	case "obedient":
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		<-c
		_ = w.Gone()
		return 0
	}
	_ = w.Wait()
	return 0
}

// unwellOnce is a worker after the first that fails; the one after it sees the end.
func unwellOnce(w *Worker, n int) int {
	if n > 1 {
		_ = w.Gone()
		return 0
	}
	r, wr, err := os.Pipe()
	if err != nil {
		return 9
	}
	fmt.Fprintln(wr, n+1)
	if w.Keep("count", r) != nil {
		return 9
	}
	_ = w.Failed(Failure{Code: 10, Text: "no memory"})
	return 10
}

// supervised runs workers of a kind. /dev/null stands for /dev/fuse.
func supervised(t *testing.T, kind string) (*Supervisor, *[]string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var log []string
	return &Supervisor{
		Command: func() *exec.Cmd {
			cmd := exec.Command(exe)
			cmd.Env = append(os.Environ(), workerEnv+"="+kind)
			return cmd
		},
		Mount: func() (*os.File, error) { return os.OpenFile("/dev/null", os.O_RDWR, 0) },
		Log:   slog.New(slog.NewTextHandler(lines{&log}, nil)),
	}, &log
}

// lines keeps what is logged.
type lines struct{ to *[]string }

func (l lines) Write(line []byte) (int, error) {
	*l.to = append(*l.to, string(line))
	return len(line), nil
}

func TestNextWorkerHasTheFiles(t *testing.T) {
	s, log := supervised(t, "counting")
	ready := 0
	s.Ready = func() { ready++ }
	if err := s.Run(State{}); err != nil {
		t.Errorf("%v\n%s", err, strings.Join(*log, "\n"))
	}
	if ready != 1 || len(*log) != 3 || !strings.Contains((*log)[0], "signal: killed") {
		t.Errorf("ready %d times, and it says\n%s", ready, strings.Join(*log, "\n"))
	}
}

func TestWorkersThatCrashEndIt(t *testing.T) {
	s, log := supervised(t, "loop")
	start := time.Now()
	err := s.Run(State{})
	if !errors.Is(err, ErrCrashing) || !strings.Contains(fmt.Sprint(err), "exit status 2") {
		t.Errorf("it ended with %v", err)
	}
	if len(*log) != maxEarly-1 {
		t.Errorf("it says\n%s", strings.Join(*log, "\n"))
	}
	if took := time.Since(start); took < 10*time.Millisecond {
		t.Errorf("%d workers in %v: it does not slow down", maxEarly, took)
	}
}

func TestWorkerThatCannotServe(t *testing.T) {
	s, _ := supervised(t, "unable")
	var f *Failure
	if err := s.Run(State{}); !errors.As(err, &f) || f.Code != 10 || f.Text != "the store is another's" {
		t.Errorf("it ended with %v", err)
	}
	s, _ = supervised(t, "mute")
	if err := s.Run(State{}); !errors.As(err, &f) || !strings.Contains(f.Text, "exit status 7") {
		t.Errorf("a worker without a word: %v", err)
	}
	s, _ = supervised(t, "steady")
	s.Mount = func() (*os.File, error) { return nil, unix.EPERM }
	if err := s.Run(State{}); err == nil {
		t.Error("it runs without a mount")
	}
}

func TestKernelThatCannotSendAgain(t *testing.T) {
	s, log := supervised(t, "frail")
	if err := s.Run(State{}); !errors.Is(err, ErrFrail) || len(*log) > 0 {
		t.Errorf("it ended with %v, and says %v", err, *log)
	}
}

func TestDeathOfAWorkerIsItsFilesEnd(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	a, b := conn{os.NewFile(uintptr(pair[0]), "a")}, conn{os.NewFile(uintptr(pair[1]), "b")}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if err := a.say(sayKeep, "some file", null); err != nil {
		t.Fatal(err)
	}
	verb, arg, f, err := b.hear()
	if err != nil || verb != sayKeep || arg != "some file" || f == nil {
		t.Fatalf("%q %q %v %v", verb, arg, f, err)
	}
	f.Close()
	a.f.Close()
	if _, _, _, err := b.hear(); err == nil {
		t.Error("the other's end is not heard")
	}
}

// TestOrphan: a worker knows that its supervisor is gone before it has read so.
func TestOrphan(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := &Worker{c: conn{os.NewFile(uintptr(pair[1]), "supervisor")}}
	defer w.c.f.Close()
	theirs := conn{os.NewFile(uintptr(pair[0]), "worker")}
	if err := theirs.say(sayStart, "", nil); err != nil {
		t.Fatal(err)
	}
	if w.Orphan() {
		t.Error("its supervisor is there, and says something")
	}
	if err := theirs.f.Close(); err != nil {
		t.Fatal(err)
	}
	if !w.Orphan() {
		t.Error("its supervisor is gone")
	}
}
