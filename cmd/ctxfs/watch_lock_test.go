package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestWrittenPID reads the process that the file of a lock names, where the kernel does not say who has it.
func TestWrittenPID(t *testing.T) {
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		fmt.Sprintln(os.Getpid()): os.Getpid(), fmt.Sprintln(ended.Process.Pid): 0, "": 0, "-1\n": 0, "0\n": 0, `{"role":"user"}`: 0, "99999999999999999999\n": 0,
	} {
		name := filepath.Join(t.TempDir(), "lock")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := writtenPID(f); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
		f.Close()
	}
}
