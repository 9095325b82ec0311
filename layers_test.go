package ctxfs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// room is a row of the table in ARCHITECTURE.md, section Rooms: what a package may import beside the standard library.
type room struct {
	rooms, libs []string
}

// source is one parsed Go file.
type source struct {
	path string // relative to the repository
	test bool
	main bool
	ast  *ast.File
}

func (s *source) room() string { return short("ctxfs/" + path.Dir(s.path)) }

// short is how the table names an import: cmd/ctxfs, context/pack, and a library by the name of its repository.
func short(imp string) string {
	if standard(imp) {
		return imp
	}
	if rel, ok := strings.CutPrefix(imp, "ctxfs/"); ok {
		return strings.TrimPrefix(rel, "internal/")
	}
	parts := strings.Split(imp, "/")
	if parts[0] == "github.com" || parts[0] == "golang.org" || parts[0] == "gonum.org" {
		return parts[2]
	}
	return parts[1]
}

func standard(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return !strings.Contains(first, ".") && first != "ctxfs"
}

// architecture reads the table of rooms.
func architecture(t *testing.T) map[string]room {
	t.Helper()
	data, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(data), "\n## Rooms\n")
	if !found {
		t.Fatal("ARCHITECTURE.md has no section Rooms")
	}
	text, _, _ = strings.Cut(text, "\n## ")
	rows := map[string]room{}
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 6 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		r := room{rooms: words(cells[3]), libs: words(cells[4])}
		for _, below := range r.rooms {
			if _, ok := rows[below]; !ok {
				t.Errorf("ARCHITECTURE.md: %s stands on %s, which has no row above it", cells[1], below)
			}
		}
		rows[strings.Trim(cells[1], " `")] = r
	}
	return rows
}

// words takes a cell apart: names with commas between.
func words(cell string) []string {
	return strings.FieldsFunc(cell, func(r rune) bool { return strings.ContainsRune(" ,`–", r) })
}

// sources parses all Go files of the repository.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") || path.Dir(p) == "." {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		all = append(all, source{path: p, test: strings.HasSuffix(p, "_test.go"), main: f.Name.Name == "main", ast: f})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("no Go files")
	}
	return all
}

func imports(f *ast.File) []string {
	var out []string
	for _, spec := range f.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// Every package has a row in the table, and imports no more than the row allows.
func TestRoomsImportWhatTheTableAllows(t *testing.T) {
	rows := architecture(t)
	seen := map[string]bool{}
	for _, s := range sources(t) {
		row, ok := rows[s.room()]
		if !ok {
			t.Errorf("%s: the room %s is not in the table of ARCHITECTURE.md", s.path, s.room())
		}
		seen[s.room()] = true
		if s.test || !ok {
			continue
		}
		for _, imp := range imports(s.ast) {
			switch name := short(imp); {
			case standard(imp):
			case strings.HasPrefix(imp, "ctxfs/") && !slices.Contains(row.rooms, name):
				t.Errorf("%s: %s may not import the room %s", s.path, s.room(), name)
			case !strings.HasPrefix(imp, "ctxfs/") && !slices.Contains(row.libs, name):
				t.Errorf("%s: %s may not use the library %s", s.path, s.room(), imp)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		if !seen[name] {
			t.Errorf("ARCHITECTURE.md has a row for %s, which is not there", name)
		}
	}
}

// Some libraries have one user, in tests too: go-fuse stays at the kernel's edge, cobra at the user's.
func TestLibrariesWithOneUser(t *testing.T) {
	only := map[string]string{"go-fuse": "fsnode", "cobra": "cmd/ctxfs", "progressbar": "cmd/ctxfs", "tcell": "cmd/ctxfs"}
	for _, s := range sources(t) {
		for _, imp := range imports(s.ast) {
			if strings.HasSuffix(imp, "/posixtest") && s.test {
				continue // cases that go-fuse has for every file system
			}
			if strings.HasSuffix(imp, "/vt") && s.test {
				continue // tcell's emulator of a terminal
			}
			if user := only[short(imp)]; user != "" && s.room() != user {
				t.Errorf("%s: only %s may import %s", s.path, user, imp)
			}
		}
	}
}

// Where a mistake can read or write memory that is not there. Elsewhere Go's checks hold.
func TestUnsafe(t *testing.T) {
	may := []string{"record", "context/token", "keep", "fsnode", "serve", "bench", "tests/fault/ptrace"}
	for _, s := range sources(t) {
		if slices.Contains(imports(s.ast), "unsafe") && !s.test && !slices.Contains(may, s.room()) {
			t.Errorf("%s: %s imports unsafe", s.path, s.room())
		}
	}
}

// What a package does not do on its own: end the process, print, start at import, or hold state that all of its
// users share. Programs (package main) and tests may.
func TestRoomsKeepToThemselves(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, what := range globals(s.ast) {
			if !s.main {
				t.Errorf("%s: package-level state: %s", s.path, what)
			}
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncDecl); ok && f.Name.Name == "init" && f.Recv == nil {
				t.Errorf("%s: has an init function", s.path)
			}
			if e, ok := n.(*ast.SelectorExpr); ok && !s.main && forbidden(e) {
				t.Errorf("%s: uses %s", s.path, selector(e))
			}
			return true
		})
	}
}

// The rooms that `make race` leaves out start no goroutine and have no use for a lock.
func TestSequentialRooms(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, list, ok := strings.Cut(string(makefile), "\nSEQUENTIAL := ")
	list, _, _ = strings.Cut(list, "\n")
	rooms := strings.Fields(list)
	if !ok || len(rooms) == 0 {
		t.Fatal("the Makefile names no sequential rooms")
	}
	seen := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || !slices.Contains(rooms, s.room()) {
			continue
		}
		seen[s.room()] = true
		for _, imp := range imports(s.ast) {
			if imp == "sync" || imp == "sync/atomic" {
				t.Errorf("%s: a sequential room imports %s", s.path, imp)
			}
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s: a sequential room starts a goroutine", s.path)
			}
			return true
		})
	}
	if len(seen) != len(rooms) {
		t.Errorf("of %v there are %v", rooms, slices.Sorted(maps.Keys(seen)))
	}
}

func selector(e *ast.SelectorExpr) string {
	x, _ := e.X.(*ast.Ident)
	if x == nil {
		return ""
	}
	return x.Name + "." + e.Sel.Name
}

func forbidden(e *ast.SelectorExpr) bool {
	name := selector(e)
	switch name {
	case "os.Exit", "os.Stdout", "os.Stderr", "os.Stdin", "fmt.Print", "fmt.Printf", "fmt.Println":
		return true
	}
	return strings.HasPrefix(name, "log.Fatal") || strings.HasPrefix(name, "log.Print")
}

// globals lists a file's package-level variables other than sentinel errors, compiled patterns, embedded files and
// interface assertions.
func globals(f *ast.File) []string {
	var out []string
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, spec := range g.Specs {
			v := spec.(*ast.ValueSpec)
			if v.Names[0].Name == "_" || embedded(g.Doc) || embedded(v.Doc) || len(v.Values) == 1 && constantCall(v.Values[0]) {
				continue
			}
			out = append(out, v.Names[0].Name)
		}
	}
	return out
}

func embedded(doc *ast.CommentGroup) bool {
	if doc == nil {
		return false
	}
	return slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
}

func constantCall(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	fun, ok := call.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"errors.New", "fmt.Errorf", "regexp.MustCompile"}, selector(fun))
}
