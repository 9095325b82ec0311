//go:build linux && amd64

package fault

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestWhatHangsIsEnded(t *testing.T) {
	need(t)
	out := filepath.Join(t.TempDir(), "out")
	tr, err := startTracer(Job{Program: "/bin/sleep", Out: out, Record: true, Limit: time.Second / 2})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	p, err := tr.start("1000")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.end(); !errors.Is(err, errHang) {
		t.Errorf("it ended with %v", err)
	}
	said, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(said), hanging) || !strings.Contains(string(said), " of sleep: ") {
		t.Errorf("%v, it says\n%s", err, said)
	}
	for i := 0; ; i++ { // its tracer has ended, and it does with that
		if s, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid), "stat")); err != nil || strings.Contains(string(s), ") Z ") {
			break
		} else if i == 1000 {
			t.Fatalf("it is still there: %s", s)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
