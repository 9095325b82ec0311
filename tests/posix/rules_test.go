package posix

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ctxfs/tests/testhost"

	"golang.org/x/sys/unix"
)

var updateDoc = flag.Bool("update", false, "write the tables of docs/posix.md")

// ruled is a file with rules of its own.
type ruled struct {
	path   string
	text   string // what it takes
	other  string // a plain file beside it, with that text
	pinned string // a folder of plain files in the same session
}

// open opens the file as it can be opened to write.
func (f ruled) open() (int, error) {
	fd, err := unix.Open(f.path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err == unix.EPERM {
		return unix.Open(f.path, unix.O_RDWR|unix.O_APPEND|unix.O_CLOEXEC, 0)
	}
	return fd, err
}

// rule is a call, and what it gives for a file.
type rule struct {
	name string
	do   func(f ruled) error
}

// groups are files that have the same rules, but for what a table says of single ones.
func groups() map[string][]string {
	return map[string][]string{
		"logs":            {"messages.jsonl", "events.jsonl"},
		"control files":   {"context/budget", "context/gc.policy", "context/redact", "context/summary.md", "context/todo.md", "context/facts.jsonl", "context/plan.jsonl", "state", "cwd", "meta.json", "context/missing.jsonl", "context/injections.jsonl"},
		"generated files": {"context/pack.md", "context/pack.json", "context/pack@900.md", "latest.md", "created_at", "context/recall/hello", "context/swap/index.jsonl", "context/trace/selection.json", "../index/list", "../../../../../../status", "../../../../../../bin/ctxfs"},
	}
}

// texts are what control files take.
func texts(name string) string {
	switch filepath.Base(name) {
	case "state":
		return "active\n"
	case "cwd":
		return "/\n"
	case "budget":
		return "9000\n"
	case "gc.policy":
		return "pack_ttl=1d\n"
	case "redact":
		return "name literal:secret\n"
	case "missing.jsonl":
		return "{\"question\":\"why?\",\"severity\":\"high\"}\n"
	case "injections.jsonl":
		return "{\"target\":\"model\",\"injection_point\":\"system_prompt\"}\n"
	case "messages.jsonl":
		return "{\"role\":\"user\",\"content\":\"hello\"}\n"
	case "plan.jsonl":
		return "{\"text\":\"do it\",\"status\":\"pending\"}\n"
	}
	return "{}\n"
}

func rules() []rule {
	list := append(openRules(), fileRules()...)
	return append(list, nameRules()...)
}

func openRules() (list []rule) {
	for _, names := range []string{"O_RDONLY", "O_WRONLY", "O_RDWR", "O_WRONLY,O_APPEND", "O_RDWR,O_APPEND", "O_WRONLY,O_TRUNC", "O_WRONLY,O_APPEND,O_TRUNC", "O_RDONLY,O_TRUNC",
		"O_CREAT,O_WRONLY", "O_CREAT,O_EXCL", "O_CREAT,O_WRONLY,O_APPEND", "O_DIRECTORY", "O_NOFOLLOW", "O_PATH", "O_RDONLY,O_DIRECT", "O_WRONLY,O_APPEND,O_DIRECT", "O_RDONLY,O_SYNC"} {
		list = append(list, rule{"open " + strings.ReplaceAll(names, ",", "\\|"), func(f ruled) error {
			fd, err := unix.Open(f.path, flags(names)|unix.O_CLOEXEC, 0o600)
			if err != nil {
				return err
			}
			return unix.Close(fd)
		}})
	}
	return list
}

// onOpen is a rule about an open file.
func onOpen(name string, reads bool, do func(fd int, f ruled) error) rule {
	return rule{name, func(f ruled) error {
		open := f.open
		if reads {
			open = func() (int, error) { return unix.Open(f.path, unix.O_RDONLY|unix.O_CLOEXEC, 0) }
		}
		fd, err := open()
		if err != nil {
			return fmt.Errorf("open: %w", err)
		}
		err = do(fd, f)
		if cerr := unix.Close(fd); cerr != nil && err == nil {
			return fmt.Errorf("close: %w", cerr)
		}
		return err
	}}
}

func fileRules() []rule {
	write := func(n int, err error) error { return err }
	m := func(prot, how int) func(fd int, f ruled) error {
		return func(fd int, f ruled) error {
			data, err := unix.Mmap(fd, 0, 4096, prot, how)
			if err != nil {
				return err
			}
			return unix.Munmap(data)
		}
	}
	return []rule{
		{"`>>`: open O_WRONLY\\|O_APPEND, write, close", func(f ruled) error { return openWrite(f.path, unix.O_WRONLY|unix.O_APPEND, f.text) }},
		{"`>`: open O_WRONLY\\|O_TRUNC, write, close", func(f ruled) error { return openWrite(f.path, unix.O_WRONLY|unix.O_TRUNC, f.text) }},
		onOpen("write from the beginning, what is longer stays", false, func(fd int, f ruled) error { return write(unix.Pwrite(fd, []byte(f.text), 0)) }),
		onOpen("write, O_APPEND taken off by fcntl", false, func(fd int, f ruled) error {
			if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, 0); err != nil {
				return fmt.Errorf("fcntl: %w", err)
			}
			return write(unix.Write(fd, []byte(f.text)))
		}),
		onOpen("ftruncate to 0", false, func(fd int, f ruled) error { return unix.Ftruncate(fd, 0) }),
		onOpen("ftruncate to its length", false, func(fd int, f ruled) error {
			var st unix.Stat_t
			if err := unix.Fstat(fd, &st); err != nil {
				return err
			}
			return unix.Ftruncate(fd, st.Size)
		}),
		onOpen("fallocate", false, func(fd int, f ruled) error { return unix.Fallocate(fd, 0, 0, 4096) }),
		onOpen("fallocate KEEP_SIZE", false, func(fd int, f ruled) error { return unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, 4096) }),
		onOpen("fallocate PUNCH_HOLE", false, func(fd int, f ruled) error {
			return unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 4096)
		}),
		onOpen("mmap MAP_SHARED to write", false, m(unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)),
		onOpen("a store to that mapping, msync", false, func(fd int, f ruled) error {
			if _, err := unix.Pwrite(fd, []byte(f.text), 0); err != nil { // else there may be nothing to map
				return err
			}
			data, err := unix.Mmap(fd, 0, len(f.text), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			if err != nil {
				return fmt.Errorf("mmap: %w", err)
			}
			copy(data, f.text)
			return errors.Join(unix.Msync(data, unix.MS_SYNC), unix.Munmap(data))
		}),
		onOpen("mmap MAP_PRIVATE to write", true, m(unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)),
		onOpen("mmap MAP_SHARED to read", true, m(unix.PROT_READ, unix.MAP_SHARED)),
		onOpen("copy_file_range into it", false, func(fd int, f ruled) error {
			from, err := unix.Open(f.other, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return fmt.Errorf("open: %w", err)
			}
			defer unix.Close(from)
			return write(unix.CopyFileRange(from, nil, fd, nil, len(f.text), 0))
		}),
		onOpen("copy_file_range from it", true, func(fd int, f ruled) error {
			to, err := unix.Open(f.other, unix.O_WRONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return fmt.Errorf("open: %w", err)
			}
			defer unix.Close(to)
			return write(unix.CopyFileRange(fd, nil, to, nil, 4096, 0))
		}),
		onOpen("fsync", false, func(fd int, f ruled) error { return unix.Fsync(fd) }),
		onOpen("fdatasync of a reader", true, func(fd int, f ruled) error { return unix.Fdatasync(fd) }),
		onOpen("flock", true, func(fd int, f ruled) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) }),
		onOpen("fcntl F_SETLK", false, func(fd int, f ruled) error {
			return unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
		}),
		onOpen("fcntl F_SETLEASE", true, func(fd int, f ruled) error {
			_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
			return err
		}),
		onOpen("ioctl FS_IOC_GETFLAGS", true, func(fd int, f ruled) error { _, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS); return err }),
		onOpen("lseek SEEK_DATA past the end", true, func(fd int, f ruled) error { _, err := unix.Seek(fd, 1<<40, unix.SEEK_DATA); return err }),
		onOpen("pread past the end", true, func(fd int, f ruled) error { return write(unix.Pread(fd, make([]byte, 10), 1<<40)) }),
		onOpen("getdents", true, func(fd int, f ruled) error { return write(unix.Getdents(fd, make([]byte, 1000))) }),
	}
}

func nameRules() []rule {
	x := func(f ruled) string { return filepath.Join(filepath.Dir(f.path), "x") }
	back := func(f ruled, at string, err error) error {
		if err == nil {
			_ = unix.Unlink(at) // what it became there
		}
		return err
	}
	return []rule{
		{"truncate to 0", func(f ruled) error { return unix.Truncate(f.path, 0) }},
		{"truncate to 1 MB", func(f ruled) error { return unix.Truncate(f.path, 1<<20) }},
		{"truncate to 1 TB", func(f ruled) error { return unix.Truncate(f.path, 1<<40) }},
		{"chmod", func(f ruled) error { return unix.Chmod(f.path, 0o640) }},
		{"chown to oneself", func(f ruled) error { return unix.Chown(f.path, alice, alice) }},
		{"chown to another", func(f ruled) error { return unix.Chown(f.path, carol, -1) }},
		{"utimensat of now", func(f ruled) error {
			return unix.UtimesNanoAt(unix.AT_FDCWD, f.path, []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}, 0)
		}},
		{"utimensat of another time", func(f ruled) error {
			return unix.UtimesNanoAt(unix.AT_FDCWD, f.path, []unix.Timespec{{Sec: 1}, {Sec: 2}}, 0)
		}},
		{"access R_OK", func(f ruled) error { return unix.Access(f.path, unix.R_OK) }},
		{"access W_OK", func(f ruled) error { return unix.Access(f.path, unix.W_OK) }},
		{"access X_OK", func(f ruled) error { return unix.Access(f.path, unix.X_OK) }},
		{"setxattr of user.x", func(f ruled) error { return unix.Setxattr(f.path, "user.x", []byte("y"), 0) }},
		{"getxattr of user.x", func(f ruled) error { _, err := unix.Getxattr(f.path, "user.x", make([]byte, 10)); return err }},
		{"getxattr of user.ctxfs.tokens", func(f ruled) error {
			_, err := unix.Getxattr(f.path, "user.ctxfs.tokens", make([]byte, 20))
			return err
		}},
		{"getxattr of security.capability", func(f ruled) error {
			_, err := unix.Getxattr(f.path, "security.capability", make([]byte, 20))
			return err
		}},
		{"listxattr", func(f ruled) error { _, err := unix.Listxattr(f.path, make([]byte, 100)); return err }},
		{"removexattr of user.ctxfs.tokens", func(f ruled) error { return unix.Removexattr(f.path, "user.ctxfs.tokens") }},
		{"readlink", func(f ruled) error { _, err := unix.Readlink(f.path, make([]byte, 100)); return err }},
		{"link to a name in pinned/", func(f ruled) error { return unix.Link(f.path, f.pinned+"/l") }},
		{"symlink over it", func(f ruled) error { return unix.Symlink("x", f.path) }},
		{"mkdir over it", func(f ruled) error { return unix.Mkdir(f.path, 0o700) }},
		{"mknod over it", func(f ruled) error { return unix.Mknod(f.path, unix.S_IFREG|0o600, 0) }},
		{"rmdir", func(f ruled) error { return unix.Rmdir(f.path) }},
		{"rename to itself", func(f ruled) error { return unix.Rename(f.path, f.path) }},
		{"rename to another name beside it", func(f ruled) error { return back(f, x(f), unix.Rename(f.path, x(f))) }},
		{"rename to a name in pinned/", func(f ruled) error { return back(f, f.pinned+"/r", unix.Rename(f.path, f.pinned+"/r")) }},
		{"rename of a folder over it", func(f ruled) error {
			if err := unix.Mkdir(f.pinned+"/d", 0o700); err != nil {
				return fmt.Errorf("mkdir: %w", err)
			}
			defer unix.Rmdir(f.pinned + "/d")
			return unix.Rename(f.pinned+"/d", f.path)
		}},
		{"rename of a plain file over it", func(f ruled) error { return unix.Rename(f.other, f.path) }},
		{"rename over it with RENAME_NOREPLACE", func(f ruled) error {
			return unix.Renameat2(unix.AT_FDCWD, f.other, unix.AT_FDCWD, f.path, unix.RENAME_NOREPLACE)
		}},
		{"rename with RENAME_EXCHANGE", func(f ruled) error {
			return unix.Renameat2(unix.AT_FDCWD, f.other, unix.AT_FDCWD, f.path, unix.RENAME_EXCHANGE)
		}},
		{"unlink", func(f ruled) error { return unix.Unlink(f.path) }},
	}
}

// TestRules makes each call on each file that has rules of its own, and holds the table of docs/posix.md to what they give.
func TestRules(t *testing.T) {
	if os.Getuid() != root {
		testhost.Skip(t, "a system mount with several users needs root")
	}
	m := newMount(t, "--allow-other")
	sessions := fmt.Sprintf("%s/home/%d/agent/coder/session", m.point, alice)
	columns := []string{"logs", "control files", "generated files"}
	got := map[string][]string{} // by rule and group
	n := 0
	for _, column := range columns {
		for _, name := range groups()[column] {
			session := sessions + "/" + strings.NewReplacer("/", "-", "@", "-", "..", "up").Replace(name)
			as(alice, func() {
				must(t, os.MkdirAll(session, 0o700))
				must(t, openWrite(session+"/messages.jsonl", unix.O_WRONLY|unix.O_APPEND, texts("messages.jsonl")))
				for _, r := range rules() {
					n++
					f := ruled{path: filepath.Join(session, name), text: texts(name), other: session + "/context/pinned/other", pinned: session + "/context/pinned"}
					must(t, os.WriteFile(f.other, []byte(f.text), 0o600))
					key := r.name + "|" + column
					got[key] = append(got[key], r.outcome(f))
				}
			})
		}
	}
	t.Logf("%d calls", n)
	var b strings.Builder
	fmt.Fprintf(&b, "\n| call | %s |\n| --- | --- | --- | --- |\n", strings.Join(columns, " | "))
	for _, r := range rules() {
		fmt.Fprintf(&b, "| %s |", r.name)
		for _, column := range columns {
			fmt.Fprintf(&b, " %s |", cell(groups()[column], got[r.name+"|"+column]))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	section(t, "rules", b.String())
}

func (r rule) outcome(f ruled) string {
	err := r.do(f)
	name := errnoName(err)
	if err != nil && name != err.Error() {
		if step, _, ok := strings.Cut(err.Error(), ": "); ok {
			name = step + ": " + name
		}
	}
	return name
}

// cell is what most files of a group give, and those that give something else.
func cell(names, got []string) string {
	count := map[string]int{}
	most := got[0]
	for _, g := range got {
		if count[g]++; count[g] > count[most] {
			most = g
		}
	}
	text := most
	for i, g := range got {
		if g == most || slices.Index(got, g) != i {
			continue
		}
		var of []string
		for j := range got {
			if got[j] == g {
				of = append(of, "`"+filepath.Base(names[j])+"`")
			}
		}
		text += fmt.Sprintf("; %s: %s", strings.Join(of, " "), g)
	}
	return text
}

// section holds a part of docs/posix.md to what it should be, or writes it.
func section(t *testing.T, name, want string) {
	t.Helper()
	const file = "../../docs/posix.md"
	begin, end := "<!-- "+name+": go test ./tests/posix -update -->\n", "<!-- end of "+name+" -->\n"
	data, err := os.ReadFile(file)
	must(t, err)
	doc := string(data)
	i, j := strings.Index(doc, begin), strings.Index(doc, end)
	if i < 0 || j < i {
		t.Fatalf("%s has no place for %s", file, name)
	}
	now := doc[:i+len(begin)] + want + doc[j:]
	switch {
	case now == doc:
	case *updateDoc:
		must(t, os.WriteFile(file, []byte(now), 0o644))
	default:
		t.Errorf("the table of %s is not what was found; write it with go test ./tests/posix -update, and look at what changed:\n%s", file, want)
	}
}
