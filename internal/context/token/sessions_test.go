package token

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"
)

// locator names a piece of a session without quoting it: the start of the file's SHA-256, and a place. A quoted
// one is a JSON string and stands for what it means.
type locator struct {
	file     string
	off, len int
	quoted   bool
}

// sessions reads the real sessions beside the repository, by the start of their SHA-256, and their names in the
// order of the paths. Where they are not there, the test is skipped, loudly.
func sessions(tb testing.TB) (files map[string][]byte, names []string) {
	tb.Helper()
	root := filepath.Join(moduleRoot(tb), "..", "shared", "data")
	if _, err := os.Stat(root); err != nil {
		tb.Skip("SKIP: ../shared/data is not here")
	}
	files = make(map[string][]byte)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		sum := sha256.Sum256(b)
		name := hex.EncodeToString(sum[:6])
		if _, twice := files[name]; !twice {
			files[name] = b
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return files, names
}

func moduleRoot(tb testing.TB) string {
	tb.Helper()
	dir, err := filepath.Abs(".")
	if err != nil {
		tb.Fatal(err)
	}
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	tb.Fatal("no go.mod above this directory")
	return ""
}

// sample picks about n places of a file, long ones seldom: by turns any bytes, and the values of JSON strings.
func sample(file string, b []byte, n int, seed uint64) []locator {
	rng := rand.New(rand.NewPCG(seed, uint64(len(b))))
	var found []locator
	for i := range n {
		off, size := rng.IntN(len(b)+1), 1<<rng.IntN(13)
		var l locator
		if i%2 == 0 {
			l = plain(file, b, off, size)
		} else {
			l = quoted(file, b, off)
		}
		if l.len > 0 {
			found = append(found, l)
		}
	}
	return found
}

func plain(file string, b []byte, off, size int) locator {
	for off > 0 && off < len(b) && !utf8.RuneStart(b[off]) {
		off--
	}
	end := min(off+size, len(b))
	for end < len(b) && !utf8.RuneStart(b[end]) {
		end++
	}
	return locator{file, off, end - off, false}
}

// quoted finds a JSON string value after off.
func quoted(file string, b []byte, off int) locator {
	const least, most = 24, 1 << 15
	for tries := 0; tries < 50; tries++ {
		colon := bytes.IndexByte(b[off:], ':')
		if colon < 0 {
			break
		}
		off += colon + 1
		rest := bytes.TrimLeft(b[off:min(off+most, len(b))], " ")
		if len(rest) == 0 || rest[0] != '"' {
			continue
		}
		var raw json.RawMessage
		if json.NewDecoder(bytes.NewReader(rest)).Decode(&raw) == nil && len(raw) >= least {
			return locator{file, off + bytes.Index(b[off:], raw[:1]), len(raw), true}
		}
	}
	return locator{}
}

// text gives what l stands for; ok is false when there is no such file.
func (l locator) text(tb testing.TB, files map[string][]byte) (text string, ok bool) {
	tb.Helper()
	b, ok := files[l.file]
	if !ok || l.off+l.len > len(b) {
		return "", false
	}
	text = string(b[l.off : l.off+l.len])
	if l.quoted {
		if err := json.Unmarshal([]byte(text), &text); err != nil {
			tb.Fatalf("%v: %v", l, err)
		}
	}
	return text, true
}

// mixed gives real texts of about the given number of bytes in all.
func mixed(tb testing.TB, total int, seed uint64) []string {
	tb.Helper()
	files, names := sessions(tb)
	var texts []string
	for total > 0 {
		seed++
		for _, name := range names {
			for _, l := range sample(name, files[name], 4, seed) {
				text, _ := l.text(tb, files)
				texts = append(texts, text)
				total -= len(text)
			}
		}
	}
	return texts
}

// String gives the form that golden files hold.
func (l locator) String() string {
	kind := "raw"
	if l.quoted {
		kind = "json"
	}
	return fmt.Sprintf("%s %d %d %s", l.file, l.off, l.len, kind)
}

func parseLocator(s string) (l locator, err error) {
	var kind string
	_, err = fmt.Sscan(s, &l.file, &l.off, &l.len, &kind)
	l.quoted = kind == "json"
	return l, err
}
