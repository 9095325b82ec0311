package flock

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTake takes a lock that is free, that this process has, and that is held though the process that took it has ended.
func TestTake(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	first, second := open(), open()
	if err := Take(first); err != nil {
		t.Fatal(err)
	}
	var held *Held
	if err := Take(second); !errors.As(err, &held) || held.PID != os.Getpid() {
		t.Errorf("%v, want this process, %d", err, os.Getpid())
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	// flock(1) takes the lock and ends; the shell, which has the same open file, holds it.
	shell := exec.Command("bash", "-c", `exec 9>"$0"; flock 9; echo held; read`, name)
	in, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := shell.StdoutPipe()
	if err == nil {
		err = shell.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatal(line, err)
	}
	if err := Take(second); !errors.As(err, &held) || held.PID != 0 || held.By() != "" {
		t.Errorf("%v, want no process", err)
	}
	if err := errors.Join(in.Close(), ignoreExit(shell.Wait())); err != nil {
		t.Fatal(err)
	}
	if err := Take(second); err != nil {
		t.Error(err)
	}
}

func ignoreExit(err error) error {
	if errors.As(err, new(*exec.ExitError)) {
		return nil
	}
	return err
}

func TestFind(t *testing.T) {
	const file = "fe:00:77"
	for _, c := range []struct {
		locks string
		pid   int
		held  bool
	}{
		{"", 0, false},
		{"1: FLOCK  ADVISORY  WRITE 12 fe:00:77 0 EOF\n", 12, true},
		{"1: POSIX  ADVISORY  WRITE 12 fe:00:77 0 EOF\n", 0, false},
		{"1: FLOCK  ADVISORY  WRITE 12 fe:00:771 0 EOF\n2: FLOCK  ADVISORY  READ  13 fe:00:77 0 EOF\n", 13, true},
		{"1: -> FLOCK  ADVISORY  WRITE 12 fe:00:77 0 EOF\n", 0, false},
		{"1: FLOCK  ADVISORY  WRITE -1 fe:00:77 0 EOF\n", 0, true},
		{"1: FLOCK  ADVISORY", 0, false},
	} {
		if pid, held := find(c.locks, file); pid != c.pid || held != c.held {
			t.Errorf("%q: %d, %v", c.locks, pid, held)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add("1: FLOCK  ADVISORY  WRITE 12 fe:00:77 0 EOF\n2: -> FLOCK  ADVISORY  WRITE 13 fe:00:77 0 EOF\n")
	f.Fuzz(func(t *testing.T, locks string) {
		if pid, held := find(locks, "fe:00:77"); pid < 0 || pid > 0 && !held {
			t.Errorf("%d, %v", pid, held)
		}
	})
}
