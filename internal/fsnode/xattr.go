package fsnode

import (
	"encoding/json"
	"strconv"
	"strings"

	"ctxfs/internal/session"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// tokensAttr names the exact number of tokens of a file (design: section 5). It is not listed: tools that copy all
// attributes of many files would have all of them counted.
const tokensAttr = "user.ctxfs.tokens" // #nosec G101 -- tokens of text

// originAttr names where a file's content comes from.
const originAttr = "user.ctxfs.origin"

// maxCount is the largest plain file that is counted, in bytes: 64 MiB. A larger one: EFBIG.
const maxCount = 64 << 20

// GetXAttr gives user.ctxfs.tokens and user.ctxfs.origin of any file, and user.ctxfs.glance of a session's folder. Of other classes than "user." there are none at all, and that is said as
// xattr(7) has it: ls -l then asks for the security and ACL attributes of one file, and not of each.
func (f *FS) GetXAttr(_ <-chan struct{}, header *fuse.InHeader, attr string, dest []byte) (uint32, fuse.Status) {
	if !strings.HasPrefix(attr, "user.") {
		return 0, fuse.Status(unix.EOPNOTSUPP)
	}
	if attr != tokensAttr && attr != originAttr && attr != session.GlanceAttr {
		return 0, fuse.ENOATTR
	}
	n, err := f.node(header.NodeId)
	if err != nil {
		return 0, errno(err)
	}
	value, err := f.attribute(n, attr, header.Uid)
	if err != nil {
		return 0, errno(err)
	}
	if len(dest) < len(value) {
		return uint32(len(value)), fuse.ERANGE
	}
	return uint32(copy(dest, value)), fuse.OK
}

func (f *FS) attribute(n node, attr string, uid uint32) (string, error) {
	switch attr {
	case originAttr:
		return f.origin(n)
	case session.GlanceAttr:
		return f.glance(n)
	}
	defer f.handles.quotas.build(uid)()
	count, err := f.tokens(n)
	return strconv.Itoa(count), err
}

// origin tells who made what a file holds: "written", by an agent or a person; "derived" from what was written; "default",
// as nobody has written to it yet.
func (f *FS) origin(n node) (string, error) {
	switch f.class(n) {
	case cLog, cPlain:
		return "written", nil
	case cGen:
		return "derived", nil
	case cControl:
		x, err := f.session(n)
		if err != nil {
			return "", err
		}
		name := f.tree.specs[n.kind].file
		switch {
		case x.Written(name):
			return "written", nil
		case session.Derived(name):
			return "derived", nil
		}
		return "default", nil
	}
	return "", unix.ENODATA
}

// glance tells what is known of a session.
func (f *FS) glance(n node) (string, error) {
	if n.kind != kSession {
		return "", unix.ENODATA
	}
	parent, name, _ := f.table.where(n.e)
	up, err := f.node(parent)
	if err != nil {
		return "", err
	}
	c, err := f.container(up)
	if err != nil {
		return "", err
	}
	g, err := c.Glance(name)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(g)
	return string(data), err
}

// ListXAttr lists nothing.
func (f *FS) ListXAttr(_ <-chan struct{}, _ *fuse.InHeader, _ []byte) (uint32, fuse.Status) {
	return 0, fuse.OK
}

// doAttr is how `ctxfs session` asks the daemon of a mounted store: setting it on a session's folder does what the value
// says, with the caller's rights to that folder. It is never stored.
const doAttr = "user.ctxfs.do"

// SetXAttr takes orders about a session (doAttr), and refuses all else: the one attribute there is is counted.
func (f *FS) SetXAttr(_ <-chan struct{}, in *fuse.SetXAttrIn, attr string, data []byte) fuse.Status {
	n, err := f.node(in.NodeId)
	if err != nil {
		return errno(err)
	}
	if attr == doAttr && n.kind == kRoot && string(data) == "quiet" && (in.Uid == 0 || in.Uid == f.self().Uid) {
		f.Quiet()
		return fuse.OK
	}
	if attr != doAttr || n.kind != kSession {
		return fuse.Status(unix.EOPNOTSUPP)
	}
	return errno(f.do(n, string(data), f.resent(in.Unique), caller(&in.InHeader)))
}

// do carries out an order about a session. resent tells that a process before this one may have done it.
func (f *FS) do(n node, order string, resent bool, by session.Caller) error {
	x, err := f.session(n)
	if err != nil {
		if order == "delete" && resent && errno(err) == fuse.ENOENT {
			f.deleted(n)
		}
		return err
	}
	if cwd, ok := strings.CutPrefix(order, "relocate "); ok {
		return x.Relocate(cwd, by)
	}
	if text, ok := strings.CutPrefix(order, session.DescribePrefix); ok {
		d, err := session.ParseDescription(text)
		if err != nil {
			return err
		}
		return x.Describe(d, by)
	}
	if name, ok := strings.CutPrefix(order, "keep "); ok {
		return x.KeepFile(name)
	}
	switch order {
	case "delete":
		if err := mayDelete(x, by); err != nil {
			return err
		}
		if err := x.Container().Delete(x.Name()); err != nil {
			return err
		}
		f.deleted(n)
		return nil
	case "archive":
		_, err := x.Archive()
		return err
	case "restore":
		return x.Unarchive()
	}
	return unix.EINVAL
}

// deleted forgets a session, and has the kernel do so.
func (f *FS) deleted(n node) {
	parent, name, _ := f.table.where(n.e)
	f.table.remove(parent, name)
	_ = f.dev.Load().entryNotify(parent, name) // ENOENT: the kernel does not hold the name
}

// mayDelete leaves the history of a share's session to whom the session belongs, and to root: the others of the group may
// add to it, and take nothing away.
func mayDelete(x *session.Session, by session.Caller) error {
	a, err := x.Attr()
	if err == nil && by.UID != 0 && by.UID != a.UID {
		return unix.EPERM
	}
	return err
}

// RemoveXAttr is refused.
func (f *FS) RemoveXAttr(_ <-chan struct{}, _ *fuse.InHeader, _ string) fuse.Status {
	return fuse.Status(unix.EOPNOTSUPP)
}

func (f *FS) tokens(n node) (int, error) {
	switch f.class(n) {
	case cGen, cControl:
		data, err := f.content(n)
		if err != nil {
			return 0, err
		}
		return f.store.Tokens(data)
	case cLog:
		x, err := f.session(n)
		if err != nil {
			return 0, err
		}
		return x.LogTokens(f.tree.specs[n.kind].name)
	case cPlain:
		return f.countPlain(n)
	}
	return 0, unix.ENODATA
}

func (f *FS) countPlain(n node) (int, error) {
	s, rel, err := f.at(n)
	if err != nil {
		return 0, err
	}
	st, err := s.Dir().Stat(rel)
	if err != nil {
		return 0, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return 0, unix.ENODATA
	}
	data, err := s.Dir().ReadFile(rel, maxCount)
	if err != nil {
		return 0, err
	}
	return f.store.Tokens(data)
}
