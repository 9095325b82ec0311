package posix

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ctxfs/tests/testhost"

	"github.com/hanwen/go-fuse/v2/posixtest"
)

// notRun are go-fuse's cases that do not hold here: why, and in which places; none named: in all.
func notRun() map[string]struct {
	why    string
	places []string
} {
	type reason = struct {
		why    string
		places []string
	}
	const links = "hard links are EPERM: a second name would be a way around a log's rules"
	const symlinks = "symbolic links stand only in an agent's root"
	const attributes = "attributes are ctxfs's own: others are EOPNOTSUPP"
	const ownLocks = "it is wrong: a process has its fcntl(2) locks by all of its descriptors; go-fuse does not run it either"
	const unnamed = "it skips itself: O_TMPFILE is EOPNOTSUPP, since link(2) could not name the file"
	inSessions := []string{"pinned", "a child's folder"}
	return map[string]reason{
		"Link":                {links, nil},
		"LinkUnlinkRename":    {links, nil},
		"SetattrSymlink":      {symlinks, inSessions},
		"SymlinkReadlink":     {symlinks, inSessions},
		"OpenSymlinkRace":     {symlinks, inSessions},
		"FcntlFlockLocksFile": {ownLocks, nil},
		"Tmpfile":             {unnamed, nil},
		"XAttr":               {attributes, nil},
		"XAttrLarge":          {attributes, nil},
	}
}

// go-fuse's own cases, all of them, wherever plain files are kept. A case is run, or stands in the list above.
func TestGoFuseCases(t *testing.T) {
	if os.Getuid() != root {
		testhost.Skip(t, "a system mount with several users needs root")
	}
	m := newMount(t, "--allow-other")
	not := notRun()
	for name := range not {
		if posixtest.All[name] == nil {
			t.Errorf("%s is excluded, and there is no such case", name)
		}
	}
	ran, places := 0, m.places()
	for _, p := range places {
		for _, name := range slices.Sorted(maps.Keys(posixtest.All)) {
			if why, ok := not[name]; ok && (why.places == nil || slices.Contains(why.places, p.name)) {
				continue
			}
			ran++
			t.Run(p.name+"/"+name, func(t *testing.T) {
				dir := filepath.Join(p.dir, name)
				must(t, os.Mkdir(dir, 0o755))
				defer os.RemoveAll(dir)
				defer func() {
					if t.Skipped() {
						t.Error("it skipped itself: it belongs into the list of those that are not run")
					}
				}()
				posixtest.All[name](t, dir)
			})
		}
	}
	t.Logf("%d cases of %d in %d places", ran, len(posixtest.All), len(places))
}
