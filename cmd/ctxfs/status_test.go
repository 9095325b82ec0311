package main

import (
	"io"
	"path/filepath"
	"testing"
)

// A mount that is taken away after all mounts were listed is left out; one that the caller named is an error.
func TestStatusOfAMountThatWent(t *testing.T) {
	cmd := newStatus()
	cmd.SetOut(io.Discard)
	gone := []string{filepath.Join(t.TempDir(), "mnt")}
	if err := showStatus(cmd, gone, true, false); err != nil {
		t.Errorf("listed: %v", err)
	}
	if err := showStatus(cmd, gone, false, false); err == nil {
		t.Error("named: no error")
	}
}
