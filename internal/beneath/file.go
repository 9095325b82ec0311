package beneath

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"ctxfs/internal/thread"

	"golang.org/x/sys/unix"
)

func sortByName(entries []os.DirEntry) {
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
}

// ErrTooLarge is the error of a read that met more bytes than allowed. It maps to EFBIG.
var ErrTooLarge = errors.New("file is too large")

// ReadFile reads rel whole, up to limit bytes. Only regular files are read: a pipe that somebody planted is EINVAL.
func (d *Dir) ReadFile(rel string, limit int64) ([]byte, error) {
	f, err := d.OpenFile(rel, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := regular(f); err != nil {
		return nil, &os.PathError{Op: "read", Path: rel, Err: err}
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, &os.PathError{Op: "read", Path: rel, Err: ErrTooLarge}
	}
	return data, err
}

// regular refuses what a read could wait for.
func regular(f *os.File) error {
	st, err := f.Stat()
	switch {
	case err != nil:
		return err
	case st.IsDir():
		return unix.EISDIR
	case !st.Mode().IsRegular():
		return unix.EINVAL
	}
	return nil
}

// Owner is who a new file belongs to, from its first moment. Chown false: whoever the process runs as.
type Owner struct {
	UID, GID int
	Chown    bool
}

// make runs fn, which makes a file for its owner. In a folder with the set-group-id bit the file has the folder's group.
func (o Owner) make(fn func() error) error {
	if !o.Chown {
		return fn()
	}
	return thread.Make(o.UID, o.GID, fn)
}

// WriteFile puts data at rel in one step: a reader, and a crash at any point, meets the old bytes or the new, never
// a mix. The data is on disk when it returns.
func (d *Dir) WriteFile(rel string, data []byte, perm uint32, own Owner) error {
	tmp, err := d.WriteTemp(path.Dir(rel), bytes.NewReader(data), perm, own)
	if err != nil {
		return err
	}
	if err := d.Rename(tmp, rel, 0); err != nil {
		_ = d.Unlink(tmp) // the rename's error is the one to report
		return err
	}
	return d.Sync(path.Dir(rel))
}

// WriteTemp writes what r gives to a new file in dir, synced, and gives its path: to be renamed to its place.
func (d *Dir) WriteTemp(dir string, r io.Reader, perm uint32, own Owner) (string, error) {
	tmp := path.Join(dir, TempPrefix+randomName())
	f, err := d.Create(tmp, unix.O_WRONLY, perm, own)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(ownerWriter{f, own}, r)
	if err == nil {
		err = settle(f, perm)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = d.Unlink(tmp) // the first error is the one to report
		return "", err
	}
	return tmp, nil
}

// ownerWriter writes as the owner of a new file: a full disk is full for them before it is for root.
type ownerWriter struct {
	f   *os.File
	own Owner
}

func (w ownerWriter) Write(p []byte) (n int, err error) {
	if !w.own.Chown {
		return w.f.Write(p)
	}
	err = thread.As(uint32(w.own.UID), func() error {
		n, err = w.f.Write(p)
		return err
	})
	return n, err
}

// NewFile makes an empty file at rel, which has its owner and mode from the first moment that it has the name. Where
// something stands already it stays, and that is no error.
func (d *Dir) NewFile(rel string, perm uint32, own Owner) error {
	tmp := path.Join(path.Dir(rel), TempPrefix+randomName())
	f, err := d.Create(tmp, unix.O_WRONLY, perm, own)
	if err != nil {
		return err
	}
	err = past(f, perm)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		if err = d.Rename(tmp, rel, unix.RENAME_NOREPLACE); err == nil {
			return nil
		}
	}
	_ = d.Unlink(tmp) // the first error is the one to report
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func settle(f *os.File, perm uint32) error {
	if err := past(f, perm); err != nil {
		return err
	}
	return f.Sync()
}

// past gives a new file its mode, past the umask.
func past(f *os.File, perm uint32) error { return unix.Fchmod(int(f.Fd()), perm) }

// TempPrefix starts the name of every temporary file that WriteFile makes; a crash may leave one behind.
const TempPrefix = ".ctxfs-tmp-"

func randomName() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

// Sync makes the entries of the directory rel durable.
func (d *Dir) Sync(rel string) error {
	f, err := d.OpenFile(rel, unix.O_DIRECTORY|unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// Statfs gives the numbers of the file system that holds d.
func (d *Dir) Statfs() (unix.Statfs_t, error) {
	var st unix.Statfs_t
	// fstatfs(2) works on O_PATH descriptors since Linux 3.12.
	err := unix.Fstatfs(int(d.f.Fd()), &st)
	return st, wrap("statfs", ".", err)
}
