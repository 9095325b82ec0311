package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"ctxfs/internal/mounts"
	"ctxfs/internal/session"

	"github.com/spf13/cobra"
)

// commands lists ctxfs's commands and theirs, without those that cobra adds.
func commands() []*cobra.Command {
	var out []*cobra.Command
	var add func(of *cobra.Command)
	add = func(of *cobra.Command) {
		for _, c := range of.Commands() {
			if c.IsAvailableCommand() && c.Name() != "help" {
				out = append(out, c)
				add(c)
			}
		}
	}
	add(newRoot("ctxfs"))
	return out
}

func TestEveryCommandShowsAnExample(t *testing.T) {
	for _, c := range commands() {
		var out strings.Builder
		if code := run(append(strings.Fields(c.CommandPath()), "--help"), &out, &out); code != exitOK {
			t.Errorf("%s --help: exit code %d", c.CommandPath(), code)
		}
		_, example, ok := strings.Cut(out.String(), "Examples:\n")
		if !ok || !strings.Contains(example, c.CommandPath()) {
			t.Errorf("the help of %s shows no call of it:\n%s", c.CommandPath(), out.String())
		}
	}
}

// The README tells of every command and every exit code.
func TestReadmeIsComplete(t *testing.T) {
	data, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, c := range commands() {
		if !strings.Contains(text, "`"+c.CommandPath()) {
			t.Errorf("README.md does not tell of %s", c.CommandPath())
		}
	}
	for _, e := range exitMeanings() {
		if row := fmt.Sprintf("\n| %d | %s |", e.code, e.meaning); !strings.Contains(strings.ReplaceAll(text, "`", ""), row) {
			t.Errorf("README.md has no row %s", row)
		}
	}
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, exitOK},
		{errors.New("disk on fire"), exitFailed},
		{fs.ErrPermission, exitFailed},
		{fmt.Errorf("x: %w", fs.ErrNotExist), exitNotFound},
		{fmt.Errorf("x: %w", &session.Error{Kind: session.NotFound}), exitNotFound},
		{fmt.Errorf("x: %w", &session.Error{Kind: session.Locked}), exitLocked},
		{fmt.Errorf("x: %w", &session.Error{Kind: session.Invalid}), exitFailed},
		{fmt.Errorf("x: %w", mounts.ErrMounted), exitLocked},
		{fmt.Errorf("x: %w", mounts.ErrStale), exitNoMount},
		{errors.Join(errNoMount), exitNoMount},
		{usageError{"x"}, exitUsage},
		{problems{"x"}, exitProblems},
		{childError{text: "x", code: exitLocked}, exitLocked},
	} {
		var stderr strings.Builder
		if got := exitCode(c.err, &stderr); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.err, got, c.want)
		}
		if said := stderr.String(); (c.err == nil) != (said == "") || c.err != nil && !strings.HasPrefix(said, "ctxfs: ") {
			t.Errorf("%v: said %q", c.err, said)
		}
	}
}

func TestMountHelperArgs(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"/store /ctx", "mount /ctx --background --store /store"},
		{"/store /ctx -o rw,allow_other", "mount /ctx --background --store /store -o rw,allow_other"},
		{"ctxfs /ctx -o rw", "mount /ctx --background -o rw"}, // a source that is no path: the default store
		{"mount /ctx", "mount /ctx"},
		{"umount /ctx", "umount /ctx"},
		{"unmount /ctx", "unmount /ctx"},
		{"help /ctx", "help /ctx"},
		{"pack /ctx/home/0/agent/a/session/s", "pack /ctx/home/0/agent/a/session/s"},
		{"mout ctx", "mout ctx"},
		{"umoun /ctx", "umoun /ctx"},
		{"/store", "/store"},
		{"--version /ctx", "--version /ctx"},
		{"/store --help", "/store --help"},
		{"", ""},
	} {
		got := mountHelperArgs(newRoot("ctxfs"), strings.Fields(c.in))
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

func TestReadOptions(t *testing.T) {
	m := mountFlags{budget: 100, sync: syncAsked, reads: readsDirect, options: []string{"rw", "sync", "nosuid", "dev", "allow_other", "budget=4000", "tokenizer=cl100k_base", "store=/s", "x-gvfs-hide", "comment=mine", "noauto",
		"nodiratime", "strictatime", "norelatime", "lazytime", "silent", "group", "iversion"}}
	if err := m.readOptions(); err != nil {
		t.Fatal(err)
	}
	if !m.allowOther || m.budget != 4000 || m.tokenizer != "cl100k_base" || m.store != "/s" || strings.Join(m.kernel, ",") != "nosuid,dev" || m.sync != syncClose {
		t.Errorf("read as %+v", m)
	}
	for _, bad := range []string{"colour", "budget=", "budget=1e3", "budget=0", "budget=-5", "budget=100000001", "sync=always", "ro", "remount", "dirsync"} {
		m := mountFlags{budget: 100, sync: syncAsked, reads: readsDirect, options: []string{bad}}
		if err := m.readOptions(); !errors.As(err, new(usageError)) {
			t.Errorf("-o %s: %v, want a usage error", bad, err)
		}
	}
}
