//go:build linux && amd64

package fault

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"ctxfs/internal/session"
)

// serves holds the daemon, now that nothing fails any more, to its work.
func (w *world) serves(l *ledger) (wrong []string) {
	tell := func(what string, err error) {
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("after the fault: %s: %v", what, err))
		}
	}
	dir := w.session("after")
	tell("mkdir", os.MkdirAll(dir, 0o700))
	for _, s := range []string{"after", "new", "torn", "ended", "cold", "half", "pic", "bare"} {
		if _, err := os.Stat(w.session(s)); s == "new" && err != nil {
			continue // its mkdir failed
		}
		line := message("after", 0, s)
		err := writeTo(w.session(s)+"/messages.jsonl", line, os.O_WRONLY|os.O_APPEND)
		tell("append to "+s, err)
		l.wrote(s, "after", err, line)
		data, err := os.ReadFile(w.session(s) + "/messages.jsonl")
		tell("read "+s, err)
		if err == nil {
			for _, x := range l.check(s, string(data), promise{least: written}) {
				wrong = append(wrong, "in the mount: "+x)
			}
		}
		_, err = os.ReadFile(w.session(s) + "/context/pack.md")
		tell("pack of "+s, err)
	}
	for file, want := range l.files {
		data, err := os.ReadFile(file)
		tell("read "+file, err)
		if err == nil && !slices.Contains(want, string(data)) {
			wrong = append(wrong, fmt.Sprintf("%s has %q, want one of %q", file, data, want))
		}
	}
	list, err := os.ReadFile(w.agent() + "/session/index/list")
	tell("read index/list", err)
	for _, s := range []string{"after", "torn", "cold"} {
		if !strings.Contains(string(list), s) {
			wrong = append(wrong, fmt.Sprintf("index/list lacks %s: %q", s, list))
		}
	}
	return wrong
}

// left holds the store, which nothing works on, to what its writers know.
func left(store string, l *ledger, p promise) (wrong []string) {
	out, err := plainly("verify", "--store", store)
	if err != nil {
		wrong = append(wrong, fmt.Sprintf("verify: %v: %s", err, out))
	}
	s, err := session.Open(store, session.Options{ReadOnly: true})
	if err != nil {
		return append(wrong, err.Error())
	}
	defer s.Close()
	c, err := s.Container("home/0/agent/coder")
	if err != nil {
		return append(wrong, err.Error())
	}
	names, err := c.Names()
	if err != nil {
		return append(wrong, err.Error())
	}
	for name := range l.base {
		if !slices.Contains(names, name) && !l.gone[name] {
			wrong = append(wrong, "session "+name+" is gone")
		}
	}
	for _, name := range names {
		if name == "imported" || name == "extra" {
			continue
		}
		data, err := logOf(c, name, session.Messages)
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("read of %s: %v", name, err))
			continue
		}
		wrong = append(wrong, l.check(name, data, p)...)
	}
	return wrong
}

// logOf reads a log of a session.
func logOf(c *session.Container, name, log string) (string, error) {
	x, err := c.Session(name)
	if err != nil {
		return "", err
	}
	size, err := x.LogSize(log)
	if err != nil {
		return "", err
	}
	data := make([]byte, size)
	if n, err := x.ReadLog(log, data, 0); err != nil && !(errors.Is(err, io.EOF) && n == len(data)) {
		return "", err
	}
	return string(data), nil
}
