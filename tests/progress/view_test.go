package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// module is a module whose packages pass, fail, skip, panic, and do not compile.
func module(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":          "module m\n\ngo 1.26\n",
		"good/a_test.go":  "package good\n\nimport (\n\t\"testing\"\n\t\"time\"\n)\n\nfunc TestSlow(t *testing.T) { time.Sleep(1100 * time.Millisecond) }\nfunc TestQuick(t *testing.T) { t.Log(\"not shown\") }\nfunc TestOne(t *testing.T) { t.Skip(\"SKIP: no moon\") }\nfunc TestTwo(t *testing.T) { t.Run(\"sub\", func(t *testing.T) { t.Skip(\"SKIP: no moon\") }) }\n",
		"bad/a_test.go":   "package bad\n\nimport \"testing\"\n\nfunc TestBad(t *testing.T) { t.Run(\"sub\", func(t *testing.T) { t.Error(\"it is bad\") }) }\n",
		"panic/a_test.go": "package panic\n\nimport \"testing\"\n\nfunc TestPanic(t *testing.T) { t.Log(\"before\"); go func() { panic(\"boom\") }(); select {} }\n",
		"exit/a_test.go":  "package exit\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(*testing.M) { fmt.Println(\"no host\"); os.Exit(3) }\n",
		"none/a_test.go":  "package none\n\nfunc broken() { undefined() }\n",
		"empty/a.go":      "package empty\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "-count=1")
}

// shown runs tests and returns the exit code and what is shown of them, without times.
func shown(t *testing.T, packages ...string) (int, string) {
	t.Helper()
	var out strings.Builder
	code, err := newView(&out).run("go", append([]string{"-p=1"}, packages...))
	if err != nil {
		t.Fatal(err)
	}
	return code, regexp.MustCompile(`\b\d+(\.\d+)?s\b`).ReplaceAllString(out.String(), "TIME")
}

func TestShowsWhatPasses(t *testing.T) {
	module(t)
	code, out := shown(t, "./good", "./empty")
	const want = `      m/good TestSlow  TIME
ok    m/good  TIME  (1 of 2)
skipped 2: SKIP: no moon: TestOne TestTwo/sub
2 packages in TIME
`
	if code != 0 || out != want {
		t.Errorf("exit code %d, shown:\n%swant:\n%s", code, out, want)
	}
}

func TestShowsWhatFails(t *testing.T) {
	module(t)
	code, out := shown(t, "./...")
	for _, want := range []string{
		"FAIL  m/bad TestBad/sub  TIME\n", "a_test.go:5: it is bad\n", "FAIL  m/bad  TIME  (", // a test
		"before\n", "panic: boom\n", "FAIL  m/panic  TIME  (", // a test that did not end
		"no host\n", "FAIL  m/exit  TIME  (", // a package without a test
		"undefined: undefined\n", "FAIL  m/none  TIME  (", // a package that does not compile
		"ok    m/good  TIME  (", "6 packages in TIME\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not show %q", want)
		}
	}
	if code != 1 || strings.Contains(out, "not shown") || strings.Count(out, "it is bad") != 1 || strings.Count(out, "boom\n") != 1 {
		t.Errorf("exit code %d", code)
	}
	if t.Failed() {
		t.Log(out)
	}
}
