package session

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"ctxfs/internal/beneath"

	"golang.org/x/sys/unix"
)

// Scope says who may see a session (Session ABI, scope).
type Scope string

// The scopes. Temporary sessions live in memory (OpenMemory).
const (
	Private Scope = "private"
	Shared  Scope = "shared"
	Temp    Scope = "temp"
)

// Container holds the sessions of one agent or model of one owner: home/<uid>/agent/<agent>,
// home/<uid>/model/<model>.d, and the same under shared/<name>.
type Container struct {
	store *Store
	Rel   string // in the store
	Agent string // the agent's or model's name
	Model bool
	Scope Scope
	idx   index
}

var containerRe = regexp.MustCompile(`^(home/[0-9]+|shared/[^/]+)/(?:agent/([^/]+)|model/([^/]+)\.d)$`)

// Container gives the container at rel, which need not exist yet.
func (s *Store) Container(rel string) (*Container, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.agents[rel]; c != nil {
		return c, nil
	}
	m := containerRe.FindStringSubmatch(rel)
	if m == nil {
		return nil, refuse(NotFound, "%s holds no sessions", rel)
	}
	c := &Container{store: s, Rel: rel, Agent: m[2] + m[3], Model: m[3] != "", Scope: Private}
	if err := CheckName(c.Agent); err != nil {
		return nil, err
	}
	if share, ok := strings.CutPrefix(m[1], "shared/"); ok {
		if err := CheckName(share); err != nil {
			return nil, err
		}
		c.Scope = Shared
	}
	if s.memory != nil {
		c.Scope = Temp
	}
	c.idx.init(c)
	s.agents[rel] = c
	return c, nil
}

// SessionsRel is the folder of c's sessions in the store, and RootRel the agent's chroot.
func (c *Container) SessionsRel() string {
	if c.Scope == Temp {
		return path.Join(c.Rel, "temp")
	}
	return path.Join(c.Rel, "session")
}

// RootRel is the agent's chroot in the store.
func (c *Container) RootRel() string { return path.Join(c.Rel, "root") }

// Names lists c's sessions in name order.
func (c *Container) Names() ([]string, error) {
	names, err := c.names()
	slices.Sort(names)
	return names, err
}

func (c *Container) names() (names []string, err error) {
	err = c.store.dir.Scan(c.SessionsRel(), func(f beneath.Found) {
		if f.Type == unix.DT_DIR && CheckSessionName(f.Name) == nil {
			names = append(names, strings.Clone(f.Name))
		}
	})
	return names, err
}

// Has gives the attributes of the session of that name, or why there is none.
func (c *Container) Has(name string) (Attr, error) {
	if err := CheckSessionName(name); err != nil {
		return Attr{}, err
	}
	st, err := c.store.dir.Stat(path.Join(c.SessionsRel(), name))
	return sessionAttr(&st, name, err)
}

// AttrIn is Has for one of the names in dir, a folder of sessions.
func AttrIn(dir *beneath.Dir, name string) (Attr, error) {
	st, err := dir.StatAt(name)
	return sessionAttr(&st, name, err)
}

func sessionAttr(st *unix.Stat_t, name string, err error) (Attr, error) {
	if err != nil {
		return Attr{}, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return Attr{}, refuse(NotFound, "%s is not a session", name)
	}
	return attrOf(st), nil
}

// Create makes a session. Its files other than the logs and meta.json come into being when they are written.
func (c *Container) Create(name string, by Caller) (*Session, error) {
	if err := CheckSessionName(name); err != nil {
		return nil, err
	}
	if err := c.make(name, by); err != nil {
		return nil, err
	}
	c.store.counted(1)
	x, err := c.Session(name)
	if err != nil {
		return nil, err
	}
	// A line that was fsynced is on disk only when the way to it is.
	if err := c.store.dir.Sync(c.SessionsRel()); err != nil {
		return nil, err
	}
	c.idx.touch(name)
	return x, nil
}

// make makes a session's folder with its files, and what is missing above it. It is there whole or not at all: what a crash leaves
// of it is a temporary folder, for gc.
func (c *Container) make(name string, by Caller) (err error) {
	if m := c.store.memory; m != nil {
		defer func() {
			if err != nil { // there was no room for it
				m.tree.Lock()
				defer m.tree.Unlock()
				c.store.prune(c.SessionsRel())
			}
		}()
		m.tree.RLock()
		defer m.tree.RUnlock()
	}
	if err := c.store.makeDirs(c.SessionsRel(), by); err != nil {
		return err
	}
	rel := path.Join(c.SessionsRel(), name)
	if there, err := c.store.has(rel); there || err != nil {
		return cmp.Or(err, error(&fs.PathError{Op: "mkdir", Path: rel, Err: unix.EEXIST}))
	}
	if err := c.store.Room(rel, 0, sessionFiles); err != nil {
		return err
	}
	perm := uint32(0o700)
	if c.Scope == Shared {
		perm = 0o770
	}
	tmp := path.Join(c.SessionsRel(), beneath.TempPrefix+newID())
	if err = c.store.Mkdir(tmp, perm, by); err != nil {
		return err
	}
	if err = c.store.lay(tmp, by); err == nil {
		err = c.store.dir.Rename(tmp, rel, renameNoReplace)
	}
	if err != nil {
		_ = c.store.dir.RemoveAll(tmp) // the first error is the one to report
		return fmt.Errorf("session %s: %w", name, err)
	}
	return nil
}

// Rename gives a session another name. An existing session is never replaced.
func (c *Container) Rename(oldName, newName string) error {
	if err := CheckSessionName(newName); err != nil {
		return err
	}
	x, err := c.Session(oldName)
	if err != nil {
		return err
	}
	if c.Scope == Temp {
		return refuse(NotPermitted, "a temporary session keeps its name")
	}
	moved, err := Moving(c.store.dir)
	if err != nil {
		return err
	}
	defer moved()
	defer x.still()()
	newRel := path.Join(c.SessionsRel(), newName)
	if there, err := c.store.has(newRel); err != nil {
		return err
	} else if there {
		return refuse(Exists, "session %s exists", newName)
	}
	if err := c.store.dir.Rename(x.rel(), newRel, renameNoReplace); err != nil {
		return err
	}
	c.store.rekey(x, newName)
	c.idx.touch(oldName, newName)
	x.Touch() // packs name their session
	return c.store.dir.Sync(c.SessionsRel())
}
