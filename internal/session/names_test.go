package session

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	long := strings.Repeat("a", MaxName)
	for name, want := range map[string]Kind{
		"a": 0, "A9": 0, "0": 0, "fix-42": 0, "a.b_c+d-e": 0, "a..b": 0, "sock": 0, "x.sockets": 0, "d": 0, long: 0, "list": 0, "current": 0,
		"": Invalid, ".": Invalid, "..": Invalid, ".a": Invalid, "-a": Invalid, "_a": Invalid, "+a": Invalid, "a b": Invalid, "a/b": Invalid,
		"a\n": Invalid, "a\x00": Invalid, "é": Invalid, "a.sock": Invalid, "a.d": Invalid, ".ctxfs": Invalid, "a\xff": Invalid, "a:b": Invalid,
		long + "a": NameTooLong, strings.Repeat("/", 1000): NameTooLong,
	} {
		if err := CheckName(name); kind(err) != want || (err == nil) != (want == 0) {
			t.Errorf("CheckName(%q): %v, want kind %d", name, err, want)
		}
		if err := CheckSessionName(name); kind(err) != want {
			t.Errorf("CheckSessionName(%q): %v, want kind %d", name, err, want)
		}
	}
	if kind(CheckSessionName("index")) != Invalid || CheckName("index") != nil {
		t.Error("index is a name, but not of a session")
	}
}

func TestPackName(t *testing.T) {
	for name, want := range map[string]PackFile{
		"pack.md": {}, "pack.json": {JSON: true}, "pack@8000.md": {Budget: 8000}, "pack@1.json": {Budget: 1, JSON: true}, "pack@100000000.md": {Budget: 100_000_000},
		"pack?why did it fail.md": {Query: "why did it fail"}, "pack@80.tool#12?a%2Fb 100%25 x.y.md": {Budget: 80, Target: "tool", At: 12, Query: "a/b 100% x.y"},
		"pack#7.json": {At: 7, JSON: true}, "pack? what? .md": {Query: " what? "},
		"pack.tool.md": {Target: "tool"}, "pack@8000.reviewer.json": {Budget: 8000, Target: "reviewer", JSON: true}, "pack.user.md": {Target: "user"},
	} {
		if f, ok := PackName(name); !ok || f != want {
			t.Errorf("PackName(%q) = %+v, %v", name, f, ok)
		}
		if again, ok := PackName(want.Name()); !ok || again != want {
			t.Errorf("%+v is called %q", want, want.Name())
		}
	}
	for _, name := range []string{"pack", "pack.txt", "pack@.md", "pack@0.md", "pack@-1.md", "pack@+1.md", "pack@08.md", "pack@1e3.md", "pack@8000", "pack8000.md", "x.md",
		"pack@100000001.md", "pack@99999999999999999999.md", "pack@8000.md.md", "pack@ 8.md", ".md", "pack.model.md", "pack.admin.md", "pack..md", "pack.tool.tool.md", "x.tool.md", "pack?.md", "pack? .md", "pack#.md", "pack#0.md", "pack#x.md", "pack?%zz.md", "pack#1.tool.md"} {
		if f, ok := PackName(name); ok {
			t.Errorf("PackName(%q) = %+v", name, f)
		}
	}
}

// TestCWDKey holds the key to the vectors that are known (findings.md, by-cwd key vectors).
func TestCWDKey(t *testing.T) {
	for cwd, want := range map[string]string{"/": "cwd-af63a24c860189fe", "/workspace": "cwd-990e10b3394addcf", "/work": "cwd-1f92008dc8753ba3"} {
		if got := CWDKey(cwd); got != want {
			t.Errorf("CWDKey(%q) = %s, want %s", cwd, got, want)
		}
	}
}

func TestClimbs(t *testing.T) {
	for p, want := range map[string]bool{
		"/": false, "/a/b": false, "/a/..": false, "/a/b/../..": false, "/a/../b/..": false, "/./a//..": false, "/..a": false, "/...": false, "": false,
		"/..": true, "/../a": true, "/a/../..": true, "/a/../../a/b": true, "/./..": true, "//..": true, "..": true,
	} {
		if got := climbs(p); got != want {
			t.Errorf("climbs(%q) = %v", p, got)
		}
	}
}

func TestOwnerRel(t *testing.T) {
	for rel, want := range map[string]string{coder + "/session/s": "home/1000", "shared/team/agent/a": "shared/team", "home/1000": "home/1000", "home": ".", "": "."} {
		if got := OwnerRel(rel); got != want {
			t.Errorf("OwnerRel(%q) = %q", rel, got)
		}
	}
}

func TestFileMode(t *testing.T) {
	for _, c := range []struct {
		dir      uint32
		writable bool
		want     uint32
	}{{0o700, true, 0o600}, {0o700, false, 0o400}, {0o770, true, 0o660}, {0o770, false, 0o440}, {0o755, true, 0o644}, {0o755, false, 0o444}, {0o777, true, 0o664}, {0o2770, true, 0o660}} {
		if got := FileMode(c.dir, c.writable); got != c.want {
			t.Errorf("FileMode(%o, %v) = %o, want %o", c.dir, c.writable, got, c.want)
		}
	}
}
