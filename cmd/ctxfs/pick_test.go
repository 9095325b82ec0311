package main

import (
	"errors"
	"strings"
	"testing"

	"ctxfs/internal/mounts"
)

// TestChooseMount holds the order: the mount around the working directory, one's own, root's. Other users' mounts are used only when named.
func TestChooseMount(t *testing.T) {
	ctx := mounts.Mount{Point: "/ctx", UID: 0, AllowOther: true}
	srv := mounts.Mount{Point: "/srv/ctx", UID: 0, AllowOther: true}
	closed := mounts.Mount{Point: "/root/ctx", UID: 0}
	alice, nested := mounts.Mount{Point: "/home/alice/ctx", UID: 1001}, mounts.Mount{Point: "/srv/ctx/in", UID: 1001}
	carol := mounts.Mount{Point: "/home/carol/ctx", UID: 1003, AllowOther: true}
	bound := mounts.Mount{Point: "/bound", UID: -1, AllowOther: true}
	for _, c := range []struct {
		name string
		list []mounts.Mount
		uid  int
		dir  string
		want string // the mountpoint, or words of the error after "error: "
	}{
		{"none", nil, 0, "/", "error: no ctxfs is mounted"},
		{"the only one", []mounts.Mount{srv}, 1001, "/", "/srv/ctx"},
		{"one's own before root's", []mounts.Mount{ctx, srv, alice}, 1001, "/", "/home/alice/ctx"},
		{"root's", []mounts.Mount{srv, alice, carol}, 1002, "/", "/srv/ctx"},
		{"the directory before one's own", []mounts.Mount{ctx, srv, alice}, 1001, "/srv/ctx/home/1001", "/srv/ctx"},
		{"the directory before /ctx", []mounts.Mount{ctx, srv}, 0, "/srv/ctx", "/srv/ctx"},
		{"a name that begins the same", []mounts.Mount{ctx, srv}, 0, "/srv/ctx2", "/ctx"},
		{"the innermost", []mounts.Mount{srv, nested}, 1001, "/srv/ctx/in/home", "/srv/ctx/in"},
		{"a directory that is removed", []mounts.Mount{ctx, alice}, 1001, "", "/home/alice/ctx"},
		{"/ctx of several of root's", []mounts.Mount{srv, ctx}, 1002, "/", "/ctx"},
		{"several of root's", []mounts.Mount{srv, closed, alice}, 0, "/", "error: several ctxfs are mounted: /srv/ctx, /root/ctx (work in one of them, or choose one with CTXFS_MOUNT=/srv/ctx)"},
		{"several of one's own", []mounts.Mount{ctx, alice, nested}, 1001, "/", "error: several ctxfs are mounted: /home/alice/ctx, /srv/ctx/in ("},
		{"that does not let one in", []mounts.Mount{closed}, 1001, "/", "error: no ctxfs is mounted"},
		{"another user's", []mounts.Mount{bound, carol}, 1002, "/", "error: other users' mounts are used only when named: CTXFS_MOUNT=/bound"},
		{"another user's, to root", []mounts.Mount{carol, ctx}, 0, "/", "/ctx"},
		{"in another user's", []mounts.Mount{carol, ctx}, 0, "/home/carol/ctx/home", "error: the working directory is in /home/carol/ctx, another user's mount"},
		{"in a part of one", []mounts.Mount{bound, ctx}, 0, "/bound", "error: the working directory is in /bound, another user's mount"},
	} {
		got, err := chooseMount(c.list, c.uid, c.dir)
		if want, fails := strings.CutPrefix(c.want, "error: "); fails {
			if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, errNoMount) && !errors.As(err, new(usageError)) {
				t.Errorf("%s: %q, %v, want an error with %q", c.name, got, err, want)
			}
		} else if got != c.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}
