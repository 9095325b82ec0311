package main

import (
	"reflect"
	"testing"

	"ctxfs/internal/mounts"
)

// Without a name, a command works on no other user's mount but root's for all.
func TestOwnMounts(t *testing.T) {
	list := []mounts.Mount{
		{Point: "/ctx", UID: 0, AllowOther: true}, {Point: "/root/ctx", UID: 0}, {Point: "/home/alice/ctx", UID: 1001},
		{Point: "/home/bob/ctx", UID: 1002}, {Point: "/home/carol/ctx", UID: 1003, AllowOther: true}, {Point: "/bound", UID: -1, AllowOther: true},
	}
	for uid, want := range map[int][2][]string{
		0:    {{"/ctx", "/root/ctx"}, {"/home/carol/ctx", "/bound"}},
		1001: {{"/ctx", "/home/alice/ctx"}, {"/home/carol/ctx", "/bound"}},
		1003: {{"/ctx", "/home/carol/ctx"}, {"/bound"}},
		1004: {{"/ctx"}, {"/home/carol/ctx", "/bound"}},
	} {
		if own, others := ownMounts(list, uid); !reflect.DeepEqual([2][]string{own, others}, want) {
			t.Errorf("user %d: %q and %q, want %q", uid, own, others, want)
		}
	}
}
