package watch

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// notifier tells of changes in folders (inotify(7)). It only wakes: what changed, the files themselves say. Without it
// (the host's limit of watches is reached) the folders are looked at every now and then.
type notifier struct {
	f      *os.File   // nil: there is none
	fd     int        // the same: File.Fd would make it blocking
	mu     sync.Mutex // protects dirs
	dirs   map[int]string
	known  map[string]uint32 // what of a folder is watched
	events chan string       // a path that changed, or "": look at all
}

// What is watched of a folder with logs, and of one in which such a folder may appear.
const (
	arrivals = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_ONLYDIR
	changes  = arrivals | unix.IN_MODIFY | unix.IN_CLOSE_WRITE
)

func newNotifier() *notifier {
	n := &notifier{dirs: map[int]string{}, known: map[string]uint32{}, events: make(chan string, 256)}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return n
	}
	n.f, n.fd = os.NewFile(uintptr(fd), "inotify"), fd
	go n.read()
	return n
}

// watch adds folders, and reports whether it added one. Those that are gone are forgotten by the kernel.
func (n *notifier) watch(dirs []string, mask uint32) (added bool) {
	if n.f == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, dir := range dirs {
		if n.known[dir]&mask == mask {
			continue
		}
		if wd, err := unix.InotifyAddWatch(n.fd, dir, mask); err == nil {
			n.dirs[wd], n.known[dir], added = dir, mask, true
		}
	}
	return added
}

// cover watches the folders of a source, or the nearest folder above it that is there. What appears between the look and the
// watch would not be noticed, so it looks again until there is nothing to add.
func (n *notifier) cover(s Source) {
	for more := true; more; {
		dirs := s.dirs()
		if more = n.watch(dirs, changes); len(dirs) == 0 {
			more = n.watch([]string{above(s.Root)}, arrivals)
		}
	}
}

// above returns the nearest folder above a path that is there.
func above(path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if st, err := os.Stat(dir); err == nil && st.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
	}
}

// read hands on events until the notifier is closed.
func (n *notifier) read() {
	defer close(n.events)
	buf := make([]byte, 64<<10)
	for {
		got, err := n.f.Read(buf)
		if err != nil {
			return
		}
		for _, path := range n.paths(buf[:got]) {
			n.events <- path
		}
	}
}

// paths gives what events tell of, each once.
func (n *notifier) paths(b []byte) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []string
	seen := map[string]bool{}
	for len(b) >= unix.SizeofInotifyEvent {
		wd := int(binary.NativeEndian.Uint32(b))
		mask := binary.NativeEndian.Uint32(b[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(b[12:]))
		name := string(bytes.TrimRight(b[unix.SizeofInotifyEvent:end], "\x00"))
		b = b[end:]
		path := filepath.Join(n.dirs[wd], name)
		if mask&unix.IN_IGNORED != 0 { // the folder is gone
			delete(n.known, n.dirs[wd])
			delete(n.dirs, wd)
			path = ""
		}
		if mask&(unix.IN_ISDIR|unix.IN_Q_OVERFLOW) != 0 || n.dirs[wd] == "" {
			path = ""
		}
		if !seen[path] {
			seen[path] = true
			list = append(list, path)
		}
	}
	return list
}

// wait gives the paths that changed, as soon as there is one; "" stands for all. It gives none after a while, or when
// ctx is done.
func (n *notifier) wait(ctx context.Context, atMost time.Duration) []string {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	events := n.events
	if n.f == nil {
		events = nil
	}
	select {
	case <-ctx.Done():
		return nil
	case <-timer.C:
		return nil
	case path, ok := <-events:
		if !ok { // it failed; from now on folders are looked at
			_ = n.f.Close()
			n.f = nil
			return nil
		}
		return n.more(path)
	}
}

// more takes the events that are there too, each path once.
func (n *notifier) more(path string) []string {
	list, seen := []string{path}, map[string]bool{path: true}
	for len(list) < cap(n.events) {
		select {
		case next, ok := <-n.events:
			if !ok {
				return list
			}
			if !seen[next] {
				seen[next] = true
				list = append(list, next)
			}
		default:
			return list
		}
	}
	return list
}

// close ends the goroutine that reads.
func (n *notifier) close() {
	if n.f == nil {
		return
	}
	_ = n.f.Close()
	for range n.events {
	}
}
