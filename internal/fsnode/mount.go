package fsnode

import (
	"log/slog"

	"ctxfs/internal/beneath"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// tempPrefix starts the names of ctxfs's own temporary files.
const tempPrefix = beneath.TempPrefix

// maxWrite is the largest request: one write(2) of up to this many bytes arrives in one piece.
const maxWrite = 1 << 20

// MaxRead is the largest READ in bytes, an option of the mount.
const MaxRead = maxWrite

// protocolLevel is how grave it is what go-fuse has to say: requests, when each is asked for, else what it does not understand.
func (f *FS) protocolLevel() slog.Level {
	if f.opt.Debug {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

func (f *FS) mountOptions() *fuse.MountOptions {
	return &fuse.MountOptions{
		MaxWrite: maxWrite,
		Debug:    f.opt.Debug,
		Logger:   slog.NewLogLogger(f.opt.Log.Handler(), f.protocolLevel()),
		ExtraCapabilities: fuse.CAP_READDIRPLUS_AUTO | fuse.CAP_DIRECT_IO_ALLOW_MMAP | fuse.CAP_ATOMIC_O_TRUNC |
			fuse.CAP_HAS_RESEND | fuse.CAP_HANDLE_KILLPRIV_V2,
		MaxStackDepth: 1,
	}
}

// StatFs gives the numbers of the file system that holds the store, or in temporary sessions of that in memory. In the part of an
// owner who has a limit they are no more than that limit leaves.
func (f *FS) StatFs(_ <-chan struct{}, header *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	s, rel := f.store, "."
	if n, err := f.node(header.NodeId); err == nil {
		if m, at, err := f.at(n); err == nil {
			s, rel = m, at
		}
	}
	st, err := s.Dir().Statfs()
	if err != nil {
		return errno(err)
	}
	out.Blocks, out.Bfree, out.Bavail, out.Files, out.Ffree = st.Blocks, st.Bfree, st.Bavail, st.Files, st.Ffree
	out.Bsize, out.Frsize, out.NameLen = uint32(st.Bsize), uint32(st.Frsize), 255
	has, limit := s.Taken(rel)
	atMost(&out.Blocks, has.Bytes, limit.Bytes, uint64(out.Frsize), &out.Bfree, &out.Bavail)
	atMost(&out.Files, has.Files, limit.Files, 1, &out.Ffree)
	return fuse.OK
}

// atMost has a total, and what is free of it, follow a limit in units.
func atMost(total *uint64, has, limit int64, unit uint64, free ...*uint64) {
	if limit == 0 {
		return
	}
	*total = min(*total, uint64(limit)/unit)
	for _, n := range free {
		*n = min(*n, uint64(max(0, limit-has))/unit)
	}
}
