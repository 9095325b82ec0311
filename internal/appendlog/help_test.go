package appendlog

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// kept is a quarantine that a test can look into.
type kept struct {
	mu   sync.Mutex
	data [][]byte
	why  []error
}

func (k *kept) take(data []byte, why error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.data, k.why = append(k.data, bytes.Clone(data)), append(k.why, why)
	return nil
}

func (k *kept) all() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return bytes.Join(k.data, nil)
}

// openFile gives a file with the given content as a log is opened.
func openFile(t testing.TB, content string) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "log")
	must(t, os.WriteFile(name, []byte(content), 0o600))
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func newLog(t testing.TB, content string) (*Log, *kept) {
	t.Helper()
	k := &kept{}
	l, err := New(openFile(t, content), k.take)
	must(t, err)
	return l, k
}

// content reads the log whole, and holds Size and ReadAt to the file.
func content(t testing.TB, l *Log) string {
	t.Helper()
	data, err := os.ReadFile(l.File().Name())
	must(t, err)
	got := make([]byte, l.Size())
	if n, err := l.ReadAt(got, 0); n != len(got) || !bytes.Equal(got, data) {
		t.Errorf("Size and ReadAt give %d of %d bytes, the file has %d, %v", n, len(got), len(data), err)
	}
	return string(data)
}

func lineOf(writer, n int, text string) string {
	return fmt.Sprintf(`{"w":%d,"n":%d,"text":%q}`, writer, n, text) + "\n"
}
