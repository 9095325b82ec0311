package fsnode

import (
	"os"
	"path"
	"strings"
	"testing"
)

// docs/abi.md has a row for every kind of node that has a name. (That its rows are right, tests/abi_test.go sees at a mount.)
func TestEveryKindIsTold(t *testing.T) {
	page, err := os.ReadFile("../../docs/abi.md")
	if err != nil {
		t.Fatal(err)
	}
	tree := newTree()
	stands := map[kind]string{kOwner: "UID", kContainer: "AGENT", kSession: "SESSION"}
	var where func(k kind) string
	where = func(k kind) string {
		s := tree.specs[k]
		switch name := stands[k]; {
		case k == kRoot:
			return "/"
		case name != "":
			return path.Join(where(s.parent), name)
		}
		return path.Join(where(s.parent), s.name)
	}
	n := 0
	for k, s := range tree.specs {
		if s.name == "" || k == kTemps { // which is there while it has a session in it: told in the text
			continue
		}
		n++
		p := where(k)
		if _, inSession, ok := strings.Cut(p, "/SESSION/"); ok {
			p = inSession
		}
		if s.class == cDir || s.class == cPlain {
			p += "/"
		}
		if !strings.Contains(string(page), "\n| `"+p+"` | 0") {
			t.Errorf("docs/abi.md has no row of %s", p)
		}
	}
	if n < 50 {
		t.Errorf("only %d kinds were looked at", n)
	}
}
