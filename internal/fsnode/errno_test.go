package fsnode

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ctxfs/internal/session"

	"golang.org/x/sys/unix"
)

// toldErrnos reads the table of docs/faq.md: each errno, and whether a row says that it is not ctxfs's.
func toldErrnos(t *testing.T) map[string]bool {
	t.Helper()
	data, err := os.ReadFile("../../docs/faq.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(data), "<!-- errors:")
	text, _, ok := strings.Cut(text, "<!-- end of errors -->")
	if !ok {
		t.Fatal("docs/faq.md has no table of errors")
	}
	told := map[string]bool{}
	for line := range strings.Lines(text) {
		cells := strings.Split(line, " | ")
		for _, name := range regexp.MustCompile(`E[A-Z]+`).FindAllString(cells[0], -1) {
			if strings.HasPrefix(line, "| E") {
				told[name] = strings.Contains(line, "(kernel)") || strings.Contains(line, "(file system)")
			}
		}
	}
	return told
}

// usedErrnos are those that the sources name, but for those that no request is answered with.
func usedErrnos(t *testing.T) map[string]bool {
	t.Helper()
	inner := map[string]bool{
		"EINTR": true, "ENODEV": true, "ECONNABORTED": true, "EBADMSG": true, // of /dev/fuse, and of the supervisor
		"ELOOP": true, "EWOULDBLOCK": true, // of the store, told as something else
		"ENOATTR": true,                 // ENODATA
		"ENFILE":  true, "ENOMEM": true, // of the daemon, as they come
		"ENOSYS": true, // asked of the kernel: the answer stays here
	}
	used := map[string]bool{}
	for _, dir := range []string{".", "../session"} {
		for _, name := range namedErrnos(t, dir) {
			used[name] = !inner[name]
		}
	}
	maps.DeleteFunc(used, func(_ string, is bool) bool { return !is })
	for k := session.Invalid; k <= session.Damaged; k++ {
		used[unix.ErrnoName(unix.Errno(errno(&session.Error{Kind: k})))] = true
	}
	return used
}

// namedErrnos are those that a folder's sources name.
func namedErrnos(t *testing.T, dir string) (out []string) {
	t.Helper()
	files, err := filepath.Glob(dir + "/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", dir, len(files), err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if e, ok := n.(*ast.SelectorExpr); ok && regexp.MustCompile(`^E[A-Z]{3,}$`).MatchString(e.Sel.Name) {
				if x, ok := e.X.(*ast.Ident); ok && slices.Contains([]string{"unix", "syscall", "fuse"}, x.Name) {
					out = append(out, e.Sel.Name)
				}
			}
			return true
		})
	}
	return out
}

// docs/faq.md tells of every errno that this package gives, and of no other, but for those that it says are not ctxfs's.
func TestErrnosAreTold(t *testing.T) {
	told, used := toldErrnos(t), usedErrnos(t)
	// ENOTSUP and EOPNOTSUPP are one number, of which unix gives one name.
	if used["ENOTSUP"] {
		delete(used, "ENOTSUP")
		used["EOPNOTSUPP"] = true
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if other, ok := told[name]; !ok || other {
			t.Errorf("docs/faq.md does not tell of %s, which fsnode gives", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(told)) {
		if !told[name] && !used[name] {
			t.Errorf("docs/faq.md tells of %s, which fsnode does not give", name)
		}
	}
}

// Each rule has a number of its own, and none is forgotten: EIO is for damage alone.
func TestRuleErrno(t *testing.T) {
	for k := session.Invalid; k < session.Damaged; k++ {
		if got := unix.Errno(errno(&session.Error{Kind: k})); got == unix.EIO || got == 0 {
			t.Errorf("kind %d is %v", k, got)
		}
	}
	if got := unix.Errno(errno(&session.Error{Kind: session.Damaged})); got != unix.EIO {
		t.Errorf("damage is %v", got)
	}
}
