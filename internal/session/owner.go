package session

import (
	"os"
	"os/user"
	"path"
	"strconv"
	"strings"

	"ctxfs/internal/beneath"

	"golang.org/x/sys/unix"
)

// Caller is who asks, as the kernel says.
type Caller struct{ UID, GID uint32 }

// ownerFor gives who a new file at rel belongs to: in home/<uid> that user, whoever asked; elsewhere the caller. In a folder with
// the set-group-id bit, as a share's, the folder's group comes before the owner's.
func (s *Store) ownerFor(rel string, c Caller) beneath.Owner {
	own := beneath.Owner{UID: int(c.UID), GID: int(c.GID), Chown: s.chown}
	if uid, ok := HomeOf(rel); ok {
		if uid != own.UID {
			own.UID, own.GID = uid, primaryGroup(uid)
		}
	}
	return own
}

func primaryGroup(uid int) int {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		if gid, err := strconv.Atoi(u.Gid); err == nil {
			return gid
		}
	}
	return uid
}

// OwnerRel gives the part of the store that rel's owner has: home/<uid> or shared/<name>.
func OwnerRel(rel string) string {
	parts := strings.SplitN(rel, "/", 3)
	if len(parts) < 2 {
		return "."
	}
	return path.Join(parts[0], parts[1])
}

// MakeDirs makes the directory rel and what is missing above it, each for its owner.
func (s *Store) MakeDirs(rel string, c Caller) error {
	if m := s.memory; m != nil {
		m.tree.RLock()
		defer m.tree.RUnlock()
		if err := m.hasPlace(rel); err != nil {
			return err
		}
	}
	return s.makeDirs(rel, c)
}

func (s *Store) makeDirs(rel string, c Caller) error {
	perm := uint32(0o700)
	if strings.HasPrefix(rel, "shared/") {
		perm = 0o770
	}
	return s.dir.MkdirAll(rel, perm, s.ownerFor(rel, c), func(made string) error { return s.dir.Sync(path.Dir(made)) })
}

// Create makes the plain file rel, which is not there yet, for its owner, and opens it with open(2) flags.
func (s *Store) Create(rel string, flags int, perm uint32, by Caller) (*os.File, error) {
	return s.dir.Create(rel, flags, perm, s.ownerFor(rel, by))
}

// Mkdir makes the plain folder rel for its owner, and Symlink a link.
func (s *Store) Mkdir(rel string, perm uint32, by Caller) error {
	return s.dir.Mkdir(rel, perm, s.ownerFor(rel, by))
}

// Symlink: see Mkdir.
func (s *Store) Symlink(target, rel string, by Caller) error {
	return s.dir.Symlink(target, rel, s.ownerFor(rel, by))
}

// own refuses, in home/<uid>, what does not belong to that user. A user can reach the files of their own home in the store,
// so what stands there may be another name of somebody else's file, which this process, as root, must not read or
// change for them. No other name can be given to a folder: those of root's, which root made by hand, are the user's to look into.
func own(rel string, st *unix.Stat_t) error {
	uid, ok := HomeOf(rel)
	if !ok || int(st.Uid) == uid || st.Uid == 0 && st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return nil
	}
	return unix.EACCES
}

// HomeOf gives the uid of the home that a path of the store is in, or is.
func HomeOf(rel string) (uid int, ok bool) {
	rest, ok := strings.CutPrefix(rel, "home/")
	if !ok {
		return 0, false
	}
	name, _, _ := strings.Cut(rest, "/")
	n, err := strconv.ParseUint(name, 10, 32)
	return int(n), err == nil
}
