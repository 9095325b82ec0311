package posix

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"ctxfs/tests/testhost"
)

//go:embed testdata
var testdata embed.FS

// generic are errors that all calls that take a path have in common.
func generic() []script {
	var list []script
	for _, call := range []string{"open {} O_RDONLY", "open {} O_CREAT,O_WRONLY", "mkdir {}", "rmdir {}", "unlink {}", "rename {} x", "rename x {}", "link {} x", "link x {}", "symlink t {}",
		"mkfifo {}", "mknod {} socket", "mknod {} file", "chmod {} 0600", "chown {} -1 -1", "lchown {} -1 -1", "truncate {} 0", "utimens {} now now", "access {} f", "stat {}", "lstat {}", "readlink {}", "ls {}"} {
		name, _, _ := strings.Cut(call, " ")
		on := func(path string) string { return strings.ReplaceAll(call, "{}", path) }
		also := ""
		if strings.Contains(call, " x") {
			also = "create x\n"
		}
		where := ""
		if words := strings.Fields(call); len(words) > 2 && (name == "rename" || name == "link") {
			where = map[bool]string{true: " of the old name", false: " of the new name"}[words[1] == "{}"]
		}
		text := fmt.Sprintf(`
case %[1]s%[4]s: ENOTDIR, a part of the path is a file (%[2]s)
create f
%[3]s%[5]s = ENOTDIR
case %[1]s%[4]s: ENAMETOOLONG of a name (%[2]s)
%[3]s%[6]s = ENAMETOOLONG
%[7]s = ENAMETOOLONG
case %[1]s%[4]s: ENAMETOOLONG of a path (%[2]s)
%[3]s%[8]s = ENAMETOOLONG
case %[1]s%[4]s: ENOENT, a part of the path is not there (%[2]s)
%[3]s%[9]s = ENOENT
case %[1]s%[4]s: EACCES, a part of the path may not be searched (%[2]s)
%[3]smkdir d
create d/f
chmod d 0666
%[10]s = EACCES
case %[1]s%[4]s: ELOOP, a part of the path is a link in a circle (%[2]s)
%[3]ssymlink a b
symlink b a
%[11]s = ELOOP
`, name, call, also, where, on("f/g"), on("{name256}"), on("{name256}/f"), on("{path4096}"), on("none/f"), on("d/f"), on("a/f"))
		cases, err := readScripts(text)
		if err != nil {
			panic(err)
		}
		list = append(list, cases...)
	}
	return list
}

// scripts are all cases.
func scripts(t *testing.T) []script {
	t.Helper()
	files, err := fs.Glob(testdata, "testdata/cases/*.txt")
	must(t, err)
	list := generic()
	for _, name := range files {
		data, err := fs.ReadFile(testdata, name)
		must(t, err)
		cases, err := readScripts(string(data))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list = append(list, cases...)
	}
	seen := map[string]bool{}
	for _, c := range list {
		if seen[c.name] {
			t.Errorf("two cases are called %q", c.name)
		}
		seen[c.name] = true
	}
	return list
}

// exclusion is a case that gives something else in some places, and why.
type exclusion struct{ places, name, got, why string }

// exclusions reads the list: "reason TEXT", and below it "places | case | step = what it gives". Places have commas between; *
// is all of them.
func exclusions(t *testing.T) (list []exclusion) {
	t.Helper()
	data, err := fs.ReadFile(testdata, "testdata/exclusions.txt")
	must(t, err)
	why := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if reason, ok := strings.CutPrefix(line, "reason "); ok {
			why = reason
			continue
		}
		cells := strings.Split(line, " | ")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if len(cells) != 3 || why == "" {
			t.Fatalf("testdata/exclusions.txt: %q", line)
		}
		list = append(list, exclusion{cells[0], cells[1], cells[2], why})
	}
	return list
}

// excluded gives those of a place, by case.
func (p place) excluded(list []exclusion) map[string]exclusion {
	of := map[string]exclusion{}
	for _, e := range list {
		if e.places == "*" || slices.Contains(strings.Split(e.places, ", "), p.name) {
			of[e.name] = e
		}
	}
	return of
}

// Each case gives in the mount what it gives on the file system below it, or stands in the list of exclusions with what it gives
// instead.
func TestPOSIX(t *testing.T) {
	if os.Getuid() != root {
		testhost.Skip(t, "several users need root")
	}
	m := newMount(t, "--allow-other")
	list, places, excluded := scripts(t), m.places(), exclusions(t)
	t.Run("all", func(t *testing.T) {
		natives := map[string]bool{}
		for _, p := range places {
			if !natives[p.native] {
				natives[p.native] = true
				t.Run("native beside "+p.name, func(t *testing.T) { t.Parallel(); p.playNative(t, list) })
			}
			t.Run(p.name, func(t *testing.T) { t.Parallel(); p.play(t, list, p.excluded(excluded)) })
		}
	})
}

// playNative runs the cases beside the mount, where each must give what the table says.
func (p place) playNative(t *testing.T, list []script) {
	n := playAll(t, p.native, p.group, list, func(c script, d *deviation) {
		if d != nil {
			t.Errorf("%s:\n got %v\nwant %s: the table is wrong, or the file system below is odd", c.name, d, d.step.want)
		}
	})
	t.Logf("%d cases", n)
}

func (p place) play(t *testing.T, list []script, excluded map[string]exclusion) {
	met := map[string]bool{}
	n := playAll(t, p.dir, p.group, list, func(c script, d *deviation) {
		ex, ok := excluded[c.name]
		met[c.name] = true
		switch {
		case d == nil && ok:
			t.Errorf("%s: it is excluded, and is as it should be", c.name)
		case d != nil && !ok:
			t.Errorf("%s:\n got %v\nwant %s\n%s | %s | %v", c.name, d, d.step.want, p.name, c.name, d)
		case d != nil && ex.got != d.String():
			t.Errorf("%s:\n got %v\nthe list of exclusions has %s", c.name, d, ex.got)
		}
	})
	for _, name := range slices.Sorted(maps.Keys(excluded)) {
		if !met[name] {
			t.Errorf("%s is excluded, and is not run", name)
		}
	}
	t.Logf("%d cases, %d of them are excluded", n, len(excluded))
}

// The list of docs/posix.md is that of the exclusions.
func TestExclusionsInDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString("\n| why | where | cases | for example |\n| --- | --- | --- | --- |\n")
	list := exclusions(t)
	for i, first := range list {
		if i > 0 && list[i-1].why == first.why {
			continue
		}
		where, n := map[string]bool{}, 0
		for _, e := range list {
			if e.why == first.why {
				n++
				for w := range strings.SplitSeq(strings.ReplaceAll(e.places, "*", "everywhere"), ", ") {
					where[w] = true
				}
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %d | `%s` |\n", first.why, strings.Join(slices.Sorted(maps.Keys(where)), ", "), n, first.got)
	}
	b.WriteByte('\n')
	section(t, "exclusions", b.String())
}

// playAll runs all cases in one place, and tells how many they were.
func playAll(t *testing.T, dir string, group bool, list []script, each func(script, *deviation)) (n int) {
	t.Helper()
	s := newStage(dir)
	defer s.close()
	for _, c := range list {
		if c.shared() && !group {
			continue
		}
		d, err := s.run(c)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		each(c, d)
		n++
	}
	left, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range left {
		if strings.HasPrefix(e.Name(), "case") {
			t.Errorf("%s is left", e.Name())
		}
	}
	return n
}
