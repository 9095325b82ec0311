package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMCPToken: a token is its user's own, and nobody else's to read or to choose.
func TestMCPToken(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "new/mcp-token")
	made, err := mcpToken(file)
	if err != nil || len(made) < 16 {
		t.Fatalf("%q, %v", made, err)
	}
	if again, err := mcpToken(file); again != made || err != nil {
		t.Errorf("%q becomes %q, %v", made, again, err)
	}
	for _, c := range []struct {
		name string
		make func(file string) error
		want string // part of the error
	}{
		{"short", func(file string) error { return os.WriteFile(file, []byte("x"), 0o600) }, "16 characters"},
		{"open", func(file string) error { return os.WriteFile(file, []byte(made), 0o640) }, "can be read by others"},
		{"fifo", func(file string) error { return unix.Mkfifo(file, 0o600) }, "no regular file"},
		{"link to nothing", func(file string) error { return os.Symlink(filepath.Join(dir, "none"), file) }, "exists"},
		{"another's", func(file string) error {
			return errorsOr(os.WriteFile(file, []byte(made), 0o600), func() error { return os.Chown(file, 1001, 1001) })
		}, "is not yours"},
		{"another's folder", func(file string) error { return os.Chown(filepath.Dir(file), 1001, 1001) }, "is not yours"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.Contains(c.name, "another") && os.Getuid() != 0 {
				t.Skip("SKIP: not root")
			}
			file := filepath.Join(t.TempDir(), "mcp-token")
			if err := c.make(file); err != nil {
				t.Fatal(err)
			}
			if token, err := mcpToken(file); token != "" || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q, %v", token, err)
			}
		})
	}
	if _, err := os.Lstat(filepath.Join(dir, "none")); err == nil {
		t.Error("a link was followed")
	}
}

func errorsOr(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}
