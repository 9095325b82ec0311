package gc

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
)

// TestDataReader passes over holes, and joins nothing over them.
func TestDataReader(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/f")
	must(t, err)
	defer f.Close()
	const far = 1 << 40
	for at, text := range map[int64]string{0: "head", 1 << 20: strings.Repeat("x", 5000), far: "tail"} {
		_, err := f.WriteAt([]byte(text), at)
		must(t, err)
	}
	must(t, f.Truncate(far+100_000))
	got, err := io.ReadAll(&dataReader{f: f})
	must(t, err)
	if len(got) > 1<<20 || !bytes.HasPrefix(got, []byte("head\x00")) || bytes.Count(got, []byte("x")) != 5000 || bytes.Count(got, []byte("tail")) != 1 || bytes.Contains(got, []byte("headx")) {
		t.Errorf("%d bytes: %.60q", len(got), got)
	}
}
