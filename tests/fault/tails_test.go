//go:build linux && amd64

package fault

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ctxfs/internal/archive"
	"ctxfs/internal/session"
)

// tail is what stands at the end of a log and is no whole lines.
type tail struct {
	session string
	bytes   []byte
}

// tornTails gives those of all logs.
func tornTails(top string) (tails []tail) {
	for _, name := range []string{"messages.jsonl", "events.jsonl", ".archive/*.jsonl.*"} {
		logs, _ := filepath.Glob(filepath.Join(top, stored, "*", name)) // the pattern is good
		for _, log := range logs {
			data, err := os.ReadFile(log)
			if err != nil || !counts(log) {
				continue
			}
			from := bytes.LastIndexByte(data, '\n') + 1
			if i := bytes.IndexByte(data, 0); i >= 0 { // a write that did not reach the disk
				from = bytes.LastIndexByte(data[:i], '\n') + 1
			}
			if torn := data[from:]; len(torn) > 0 && !bytes.HasSuffix(torn, []byte("}")) {
				rel, _ := filepath.Rel(filepath.Join(top, stored), log) // it is below
				tails = append(tails, tail{strings.Split(rel, "/")[0], torn})
			}
		}
	}
	return tails
}

// counts tells whether a file is a part of a log: one behind archived bytes is when their index says so, and no plain file
// is there.
func counts(log string) bool {
	dir, name := filepath.Split(log)
	if filepath.Base(dir) != session.ColdDir {
		return true
	}
	name, size, _ := strings.Cut(name, ".jsonl.")
	if _, err := os.Stat(filepath.Join(dir, "..", name+".jsonl")); err == nil {
		return false
	}
	f, err := os.Open(filepath.Join(dir, name+".jsonl"))
	if err != nil {
		return false
	}
	defer f.Close()
	n, err := archive.SizeOf(f)
	return err == nil && fmt.Sprint(n) == size
}

// kept tells whether the quarantine has these bytes.
func kept(top string, tail []byte) bool {
	list, _ := filepath.Glob(filepath.Join(top, "home/0/.ctxfs/quarantine/*"))
	for _, q := range list {
		if data, err := os.ReadFile(q); err == nil && bytes.Contains(data, tail) {
			return true
		}
	}
	return false
}
