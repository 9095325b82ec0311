package fsnode

import (
	"ctxfs/internal/beneath"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// tempPrefix starts the names of ctxfs's own temporary files.
const tempPrefix = beneath.TempPrefix

// maxWrite is the largest request: one write(2) of up to this many bytes arrives in one piece.
const maxWrite = 1 << 20

// MaxRead is the largest READ in bytes, an option of the mount.
const MaxRead = maxWrite

func (f *FS) mountOptions() *fuse.MountOptions {
	return &fuse.MountOptions{
		MaxWrite: maxWrite,
		Debug:    f.opt.Debug,
		ExtraCapabilities: fuse.CAP_READDIRPLUS_AUTO | fuse.CAP_DIRECT_IO_ALLOW_MMAP | fuse.CAP_ATOMIC_O_TRUNC |
			fuse.CAP_HAS_RESEND | fuse.CAP_HANDLE_KILLPRIV_V2,
		MaxStackDepth: 1,
	}
}

// StatFs gives the numbers of the file system that holds the store, or in temporary sessions of that in memory.
func (f *FS) StatFs(_ <-chan struct{}, header *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	s := f.store
	if n, err := f.node(header.NodeId); err == nil && n.temporary() {
		if m, _, err := f.at(n); err == nil {
			s = m
		}
	}
	st, err := s.Dir().Statfs()
	if err != nil {
		return errno(err)
	}
	out.Blocks, out.Bfree, out.Bavail, out.Files, out.Ffree = st.Blocks, st.Bfree, st.Bavail, st.Files, st.Ffree
	out.Bsize, out.Frsize, out.NameLen = uint32(st.Bsize), uint32(st.Frsize), 255
	return fuse.OK
}
