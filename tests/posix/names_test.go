package posix

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// room gives the agent's root and the pinned folder of a session of the user's own.
func (m *mount) room() (root, pinned string) {
	m.t.Helper()
	agent := fmt.Sprintf("%s/home/%d/agent/coder", m.point, os.Getuid())
	root, pinned = agent+"/root", agent+"/session/s/context/pinned"
	must(m.t, os.MkdirAll(filepath.Dir(filepath.Dir(pinned)), 0o755))
	return root, pinned
}

// while runs do again and again until rounds of work are over; an error of either ends the test.
func while(t *testing.T, do func() error, rounds int, work func(i int) error) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if err := do(); err != nil {
				done <- err
				return
			}
		}
	}()
	var err error
	for i := 0; i < rounds && err == nil; i++ {
		err = work(i)
	}
	close(stop)
	if err := errors.Join(err, <-done); err != nil {
		t.Error(err)
	}
}

// A file that is replaced by rename(2) all the time is always there, and whole: as editors and agents write.
func TestReplacedWhileOpened(t *testing.T) {
	m := newMount(t)
	root, pinned := m.room()
	for _, dir := range []string{root, pinned} {
		name, n := dir+"/f", 0
		replace := func() error {
			n++
			text := strings.Repeat(fmt.Sprintf("%d ", n), 1+n%500)
			return errors.Join(os.WriteFile(dir+"/new", []byte(text), 0o644), os.Rename(dir+"/new", name))
		}
		must(t, replace())
		while(t, replace, 500, func(int) error {
			f, err := os.Open(name)
			if err != nil {
				return err
			}
			defer f.Close()
			st, err := f.Stat()
			if err != nil {
				return fmt.Errorf("fstat: %w", err)
			}
			data, err := io.ReadAll(f)
			if err != nil {
				return err
			}
			words := strings.Fields(string(data))
			if int64(len(data)) != st.Size() || len(words) == 0 || strings.Count(string(data), words[0]+" ") != len(words) {
				return fmt.Errorf("%d bytes of %d: %.40q", len(data), st.Size(), data)
			}
			return nil
		})
	}
}

// What is found by a folder's descriptor is found whatever the folder is called by then.
func TestFolderRenamedWhileUsed(t *testing.T) {
	m := newMount(t)
	root, _ := m.room()
	must(t, os.MkdirAll(root+"/d", 0o755))
	must(t, os.WriteFile(root+"/d/f", []byte("hello"), 0o644))
	dir, err := unix.Open(root+"/d", unix.O_DIRECTORY, 0)
	must(t, err)
	defer unix.Close(dir)
	names := []string{root + "/d", root + "/e"}
	swing := func() error {
		names[0], names[1] = names[1], names[0]
		return os.Rename(names[1], names[0])
	}
	while(t, swing, 2000, func(i int) error {
		fd, err := unix.Openat(dir, "f", unix.O_RDWR, 0)
		if err != nil {
			return fmt.Errorf("openat: %w", err)
		}
		defer unix.Close(fd)
		var st unix.Stat_t
		if err := errors.Join(unix.Fstat(fd, &st), unix.Fchmod(fd, uint32(0o600+i%2))); err != nil || st.Size != 5 {
			return fmt.Errorf("%w, %d bytes", err, st.Size)
		}
		own := fmt.Sprint("g", i%10)
		gfd, err := unix.Openat(dir, own, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("create: %w", err)
		}
		return errors.Join(unix.Close(gfd), unix.Unlinkat(dir, own, 0))
	})
}

// Files that lost their names while they were open are what they were after the worker was killed.
func TestNamelessAfterAKill(t *testing.T) {
	m := newMount(t)
	root, _ := m.room()
	open := map[string]*os.File{}
	for _, name := range []string{"unlinked", "replaced", "made again"} {
		must(t, os.MkdirAll(root, 0o755))
		must(t, os.WriteFile(filepath.Join(root, name), []byte(name), 0o644))
		f, err := os.OpenFile(filepath.Join(root, name), os.O_RDWR, 0)
		must(t, err)
		defer f.Close()
		open[name] = f
	}
	must(t, os.Remove(root+"/unlinked"))
	must(t, os.Remove(root+"/made again"))
	must(t, os.WriteFile(root+"/made again", []byte("another"), 0o644))
	must(t, os.WriteFile(root+"/new", []byte("something else"), 0o644))
	must(t, os.Rename(root+"/new", root+"/replaced"))
	for kill := range 3 {
		for name, f := range open {
			must(t, f.Chmod(os.FileMode(0o600+kill)))
			var st unix.Stat_t
			must(t, unix.Fstat(int(f.Fd()), &st))
			buf := make([]byte, 100)
			n, err := f.ReadAt(buf, 0)
			if !errors.Is(err, io.EOF) || string(buf[:n]) != name || st.Nlink != 0 || st.Size != int64(len(name)) || st.Mode&0o777 != uint32(0o600+kill) {
				t.Errorf("%s after %d kills: %q, %v, %d links, %d bytes, mode %o", name, kill, buf[:n], err, st.Nlink, st.Size, st.Mode)
			}
		}
		m.killWorker()
	}
	if data, err := os.ReadFile(root + "/replaced"); err != nil || string(data) != "something else" {
		t.Errorf("%q, %v", data, err)
	}
}

// Who reads a folder again from its beginning sees what is in it now.
func TestRewind(t *testing.T) {
	m := newMount(t)
	root, pinned := m.room()
	for _, dir := range []string{root, pinned} {
		must(t, os.MkdirAll(dir, 0o755))
		d, err := os.Open(dir)
		must(t, err)
		defer d.Close()
		for i := range 5 {
			must(t, os.WriteFile(fmt.Sprintf("%s/%d", dir, i), nil, 0o644))
			if i == 3 {
				m.killWorker()
			}
			_, err := d.Seek(0, io.SeekStart)
			must(t, err)
			names, err := d.Readdirnames(-1)
			if err != nil || len(names) != i+1 {
				t.Errorf("after %d files: %v, %v", i+1, names, err)
			}
		}
	}
}

// The kernel lets go of what lost its name, and so does the daemon.
func TestNothingIsHeld(t *testing.T) {
	m := newMount(t)
	root, _ := m.room()
	must(t, os.MkdirAll(root, 0o755))
	before := m.fds()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 100 {
				name := fmt.Sprintf("%s/%d-%d", root, i, j)
				f, err := os.Create(name)
				if err != nil {
					t.Error(err)
					return
				}
				if err := errors.Join(os.Remove(name), f.Close()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for range 300 {
		if m.fds() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond) // FORGET comes later
	}
	t.Errorf("the daemon has %d descriptors, it had %d", m.fds(), before)
}

// fds counts the worker's open files.
func (m *mount) fds() int {
	m.t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%s/fd", m.status("worker")))
	must(m.t, err)
	n := 0
	for _, e := range list {
		target, err := os.Readlink(fmt.Sprintf("/proc/%s/fd/%s", m.status("worker"), e.Name()))
		if err == nil && !strings.HasPrefix(target, "pipe:") {
			n++
		}
	}
	return n
}
