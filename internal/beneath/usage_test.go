package beneath

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestUsage(t *testing.T) {
	top := t.TempDir()
	d, err := Open(top)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, dir := range []string{"a/b/c", "other"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, size := range map[string]int{"a/one": 100_000, "a/b/c/two": 50_000, "other/three": 1 << 20} {
		if err := os.WriteFile(filepath.Join(top, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../other", filepath.Join(top, "a/link")); err != nil {
		t.Fatal(err)
	}
	unix.Sync() // blocks are given to files late
	bytes, files, err := d.Usage("a")
	if err != nil || files != 5 || bytes < 150_000 || bytes > 250_000 {
		t.Errorf("%d bytes in %d files, %v", bytes, files, err)
	}
	deep := filepath.Join(top, "a")
	for range maxUsageDepth + 2 {
		deep = filepath.Join(deep, "d")
	}
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Usage("a"); err == nil {
		t.Error("folders that are not counted are no error")
	}
}
