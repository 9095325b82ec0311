package metrics

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// docs/metrics.md tells of every figure, the names follow Prometheus' rules, and a store's odd name is escaped.
func TestGCFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gc.prom")
	g := GC{Store: "/srv/a\n\"b\\", Began: time.Unix(1700000000, 0), Took: 1500 * time.Millisecond, Planned: 3, Done: 2, Busy: 1, Archived: 1000, Freed: 5}
	if err := WriteGC(path, g); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(ctxfs_[a-z_]+)(\{.*\}) \S+$`).FindAllStringSubmatch(string(data), -1) {
		if has[m[1]] = true; m[2] != `{store="/srv/a\n\"b\\"}` {
			t.Errorf("%s has the labels %s", m[1], m[2])
		}
	}
	doc, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(ctxfs_gc_[a-z_]+)\\{store\\}` \\| gauge \\|").FindAllStringSubmatch(string(doc), -1) {
		told[m[1]] = true
	}
	if !maps.Equal(told, has) {
		t.Errorf("docs/metrics.md tells of\n%v\nthere is\n%v", slices.Sorted(maps.Keys(told)), slices.Sorted(maps.Keys(has)))
	}
	if problems, err := promlint.New(strings.NewReader(string(data))).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// An error names the file that was asked for, and is none about the store.
func TestGCFileError(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"none/gc.prom", "taken"} {
		path := filepath.Join(dir, name)
		if err := WriteGC(path, GC{Store: "/a"}); err == nil || !strings.HasPrefix(err.Error(), path+": ") || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGCFileAfterFailure(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gc.prom")
	for _, step := range []struct {
		g    GC
		want string
	}{
		{GC{Store: "/a", Began: time.Unix(100, 0), Err: errors.New("no")}, "0"}, // nothing is known
		{GC{Store: "/a", Began: time.Unix(200, 0)}, "200"},
		{GC{Store: "/a", Began: time.Unix(300, 0), Err: errors.New("no")}, "200"},
		{GC{Store: "/a", Began: time.Unix(400, 0), Err: errors.New("no")}, "200"},
		{GC{Store: "/b", Began: time.Unix(500, 0), Err: errors.New("no")}, "0"}, // of that store
	} {
		if err := WriteGC(path, step.g); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if want := fmt.Sprintf("%s{store=%q} %s\n", lastSuccess, step.g.Store, step.want); err != nil || !strings.Contains(string(data), want) {
			t.Errorf("there is no %q in\n%s", want, data)
		}
	}
	if err := os.WriteFile(path, []byte("junk {"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WriteGC(path, GC{Store: "/a", Err: errors.New("no")}); err != nil {
		t.Errorf("over a file that is none: %v", err)
	}
}

func TestFailures(t *testing.T) {
	no := errors.New("no")
	for want, err := range []error{nil, no, errors.Join(no, no), fmt.Errorf("all: %w", errors.Join(no, errors.Join(no, no)))} {
		if n := failures(err); n != want {
			t.Errorf("%v: %d, not %d", err, n, want)
		}
	}
}
