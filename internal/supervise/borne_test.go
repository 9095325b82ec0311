package supervise

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// runs runs a supervisor, which must not hang.
func runs(t *testing.T, s *Supervisor, from State) error {
	t.Helper()
	end := make(chan error, 1)
	go func() { end <- s.Run(from) }()
	select {
	case err := <-end:
		return err
	case <-time.After(time.Minute):
		t.Fatal("the supervisor hangs")
		return nil
	}
}

// mounted is the state of a mount with n files that are held.
func mounted(t *testing.T, n int) State {
	t.Helper()
	st := State{Files: map[string]int{}}
	for i := range n + 1 {
		fd, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		st.Files[fmt.Sprint("file", i)] = fd
		if i == n {
			delete(st.Files, fmt.Sprint("file", i))
			st.Files[Device] = fd
		}
	}
	return st
}

// A worker that dies before it has taken all files does not stop the supervisor, however many they are.
func TestWorkerThatTakesNoFiles(t *testing.T) {
	s, _ := supervised(t, "")
	s.Command = func() *exec.Cmd { return exec.Command("true") }
	if err := runs(t, s, mounted(t, 2000)); !errors.Is(err, ErrCrashing) {
		t.Errorf("it ended with %v", err)
	}
}

// What one worker cannot do, or what keeps one from being started, may pass: the mount is not given up.
func TestFailureIsBorne(t *testing.T) {
	s, log := supervised(t, "unwell once")
	if err := runs(t, s, State{}); err != nil || !strings.Contains(strings.Join(*log, ""), "no memory") {
		t.Errorf("a worker that failed: %v, %v", err, *log)
	}
	var f *Failure
	s, _ = supervised(t, "unwell")
	if err := runs(t, s, State{}); !errors.Is(err, ErrCrashing) || !errors.As(err, &f) || f.Code != 10 {
		t.Errorf("workers that fail: %v", err)
	}
	s, _ = supervised(t, "counting")
	real, calls := s.Command, 0
	s.Command = func() *exec.Cmd {
		if calls++; calls > 1 && calls < 6 {
			return exec.Command("/no/such/program")
		}
		return real()
	}
	if err := runs(t, s, State{}); err != nil || calls != 8 {
		t.Errorf("workers that do not start: %v after %d", err, calls)
	}
	s.Command = func() *exec.Cmd { return exec.Command("/no/such/program") }
	for _, from := range []State{{}, mounted(t, 1)} {
		s.running, s.files, s.early = nil, nil, 0
		if err := runs(t, s, from); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("no worker at all: %v", err)
		}
	}
}

// The worker of the program before may have ended; its number may be another process's.
func TestWorkerBeforeIsGone(t *testing.T) {
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("sh", "-c", "sleep 100 >/dev/null 2>&1 & echo $!").Output()
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(foreign, syscall.SIGKILL) }()
	for _, pid := range []int{dead.Process.Pid, foreign} {
		s, _ := supervised(t, "")
		ours, theirs := ends(t)
		theirs.f.Close()
		from := mounted(t, 0)
		from.Socket, from.Worker = int(ours.f.Fd()), pid
		s.Command = func() *exec.Cmd { return exec.Command("true") }
		if err := runs(t, s, from); !errors.Is(err, ErrCrashing) {
			t.Errorf("it ended with %v", err)
		}
	}
	if err := syscall.Kill(foreign, 0); err != nil {
		t.Errorf("a process that is not its worker is killed: %v", err)
	}
}

// A worker that was killed is no fault, also when its status comes late, as on a busy host. Faults that are known late count.
func TestStatusThatComesLate(t *testing.T) {
	ended := func(script string) *os.ProcessState {
		cmd := exec.Command("sh", "-c", script)
		_ = cmd.Run()
		return cmd.ProcessState
	}
	for script, want := range map[string]error{"kill -9 $$": nil, "exit 2": ErrCrashing} {
		s, _ := supervised(t, "")
		s.faults = make(chan struct{}, maxEarly)
		dev, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer dev.Close()
		s.files = []kept{{Device, dev}}
		state := ended(script)
		for range 2 * maxEarly {
			r := &running{process: &os.Process{Pid: 1}, started: time.Now(), ready: true, ended: make(chan *os.ProcessState)}
			if _, err = s.died(r); err != nil {
				break
			}
			r.ended <- state
			select {
			case <-s.faults:
				s.early++
			case <-time.After(100 * time.Millisecond):
				if want != nil {
					t.Fatal("a fault is not reported")
				}
			}
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v", script, err)
		}
	}
}
