package posix

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// inode is a plain file of the model.
type inode struct {
	data  []byte
	named bool
}

// desc is an open file of the model: descriptors that dup(2) made share it.
type desc struct {
	*inode
	at    int
	flags int
}

func (d *desc) reads() bool  { return d.flags&unix.O_ACCMODE != unix.O_WRONLY }
func (d *desc) writes() bool { return d.flags&unix.O_ACCMODE != unix.O_RDONLY }

// slot is a descriptor, in the mount and in the model.
type slot struct {
	fd int
	*desc
}

// mapping is a shared one.
type mapping struct {
	data []byte
	*inode
}

// plainWorld is a folder of plain files.
type plainWorld struct {
	m     *mount
	dir   string
	files map[string]*inode // by path in dir
	dirs  map[string]bool
	open  map[string]slot
	maps  map[string]mapping
	calls map[string]func(o op) (got, want string)
}

const (
	maxFile   = 300 << 10
	mapLength = 64 << 10
)

func beginPlain(m *mount, n int) world {
	_, pinned := m.room()
	w := &plainWorld{m: m, dir: fmt.Sprintf("%s/%d", pinned, n), files: map[string]*inode{}, dirs: map[string]bool{".": true}, open: map[string]slot{}, maps: map[string]mapping{}}
	must(m.t, os.MkdirAll(w.dir, 0o755))
	w.calls = map[string]func(o op) (got, want string){
		"open": w.opening, "close": w.closing, "dup": w.dup, "read": w.read, "pread": w.pread, "write": w.write, "pwrite": w.pwrite, "seek": w.seek,
		"truncate": w.truncate, "ftruncate": w.ftruncate, "fallocate": w.fallocate, "rename": w.rename, "unlink": w.unlink, "link": w.link,
		"mkdir": w.mkdir, "rmdir": w.rmdir, "stat": w.stat, "fstat": w.fstat, "fsync": w.fsync, "copy": w.copy, "mmap": w.mmap, "store": w.store, "load": w.load, "munmap": w.munmap,
	}
	return w
}

func nextPlain(r *rand.Rand) op {
	s, name := digits(r.IntN(6)), plainName(r)
	off, n := digits(spread(r)), digits(spread(r)/4)
	seed := digits(r.IntN(1000))
	switch r.IntN(26) {
	case 0, 1, 2:
		return op{"open", s, name, pick(r, "O_RDONLY", "O_WRONLY", "O_RDWR", "O_RDWR,O_CREAT", "O_RDWR,O_CREAT", "O_WRONLY,O_CREAT,O_EXCL", "O_WRONLY,O_TRUNC", "O_RDWR,O_CREAT,O_TRUNC", "O_WRONLY,O_APPEND", "O_RDWR,O_APPEND,O_CREAT")}
	case 3:
		return op{"close", s}
	case 4:
		return op{"dup", s, digits(r.IntN(6))}
	case 5, 6:
		return op{"read", s, n}
	case 7, 8:
		return op{"pread", s, off, n}
	case 9, 10:
		return op{"write", s, n, seed}
	case 11, 12:
		return op{"pwrite", s, off, n, seed}
	case 13:
		return op{"seek", s, digits(spread(r) - 100), pick(r, "set", "cur", "end")}
	case 14:
		return op{"truncate", name, off}
	case 15:
		return op{"ftruncate", s, off}
	case 16:
		return op{"fallocate", s, pick(r, "0", "KEEP_SIZE", "PUNCH_HOLE,KEEP_SIZE", "ZERO_RANGE"), off, digits(1 + spread(r)/4)}
	case 17:
		if r.IntN(3) == 0 {
			return op{"rename", pick(r, "d", "e", "d/e"), pick(r, "d", "e", "d/e")}
		}
		return op{"rename", name, plainName(r)}
	case 18:
		return op{pick(r, "unlink", "unlink", "link"), name, plainName(r)}
	case 19:
		return op{pick(r, "mkdir", "mkdir", "rmdir"), pick(r, "d", "e", "d/e")}
	case 20:
		return op{pick(r, "stat", "fstat", "fsync"), s, name}
	case 21:
		return op{"copy", s, digits(r.IntN(6)), n}
	case 22:
		return op{pick(r, "mmap", "mmap", "munmap"), digits(r.IntN(3)), s}
	case 23, 24:
		return op{"store", digits(r.IntN(3)), digits(r.IntN(mapLength)), digits(1 + r.IntN(5000)), seed}
	}
	return op{"load", digits(r.IntN(3)), digits(r.IntN(mapLength)), digits(1 + r.IntN(5000))}
}

func plainName(r *rand.Rand) string { return pick(r, "a", "b", "c", "d/a", "d/b", "e/a", "d/e/a") }

// spread gives numbers of all sizes up to that of a file, and around pages.
func spread(r *rand.Rand) int {
	switch r.IntN(4) {
	case 0:
		return r.IntN(100)
	case 1:
		return r.IntN(16)*4096 + r.IntN(3) - 1 + 1
	}
	return r.IntN(maxFile / 2)
}

// bytesOf makes n bytes that differ with the seed.
func bytesOf(seed, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(seed*31+i*(1+seed%7)) | 1
	}
	return out
}

func (w *plainWorld) do(o op) error {
	if o[0] == "kill" {
		w.m.killMeanwhile()
		return nil
	}
	got, want := w.calls[o[0]](o)
	return differ(got, want)
}

// brief is bytes in an error: how many, and which.
func brief(data []byte) string {
	return fmt.Sprintf("%d bytes %08x %.20q", len(data), crc32.ChecksumIEEE(data), data)
}

func (w *plainWorld) path(name string) string { return w.dir + "/" + name }

// parent is the error of a path whose folder is not there.
func (w *plainWorld) parent(name string) string {
	dir := path.Dir(name)
	if w.dirs[dir] {
		return "ok"
	}
	for ; dir != "."; dir = path.Dir(dir) {
		if w.files[dir] != nil {
			return "ENOTDIR"
		}
	}
	return "ENOENT"
}

// kind tells what has a name: "file", "dir", or "" for nothing.
func (w *plainWorld) kind(name string) string {
	switch {
	case w.dirs[name]:
		return "dir"
	case w.files[name] != nil:
		return "file"
	}
	return ""
}

// names are those in a folder.
func (w *plainWorld) names(dir string) (list []string) {
	for _, name := range slices.Concat(slices.Collect(maps.Keys(w.files)), slices.Collect(maps.Keys(w.dirs))) {
		if path.Dir(name) == dir && name != "." {
			list = append(list, path.Base(name))
		}
	}
	slices.Sort(list)
	return list
}

// check looks at all names and at all that is open.
func (w *plainWorld) check() error {
	for dir := range w.dirs {
		want := strings.Join(w.names(dir), " ")
		if got := list(nil, []string{w.path(dir)}); got != want && (want != "" || got != "nothing") {
			return fmt.Errorf("in %s are %s, and should be %s", dir, got, want)
		}
	}
	for name, f := range w.files {
		data, err := os.ReadFile(w.path(name))
		if err != nil || !bytes.Equal(data, f.data) {
			return fmt.Errorf("%s: %v, %s, and should be %s", name, err, brief(data), brief(f.data))
		}
	}
	for s, d := range w.open {
		var st unix.Stat_t
		if err := unix.Fstat(d.fd, &st); err != nil || st.Size != int64(len(d.data)) || (st.Nlink > 0) != d.named {
			return fmt.Errorf("descriptor %s: %v, %d bytes and %d links, and should be %d bytes, named %v", s, err, st.Size, st.Nlink, len(d.data), d.named)
		}
		if !d.reads() {
			continue
		}
		got := make([]byte, len(d.data)+1)
		n, err := unix.Pread(d.fd, got, 0)
		if err != nil || !bytes.Equal(got[:n], d.data) {
			return fmt.Errorf("descriptor %s: %v, %s, and should be %s", s, err, brief(got[:n]), brief(d.data))
		}
	}
	return nil
}

func (w *plainWorld) close() {
	w.m.kills.Wait()
	for _, d := range w.open {
		unix.Close(d.fd)
	}
	for _, m := range w.maps {
		_ = unix.Munmap(m.data)
	}
	_ = os.RemoveAll(w.dir)
}
