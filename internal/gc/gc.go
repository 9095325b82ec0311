// Package gc gives back what nothing needs: first a plan, then its execution. It archives and deletes sessions only as
// their own policies say, never touches a line of history otherwise (Context Runtime ABI, Context GC), and works beside
// a running mount.
package gc

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"ctxfs/internal/beneath"
	"ctxfs/internal/session"

	"golang.org/x/sys/unix"
)

// What an action does.
const (
	Remove  = "remove"  // a file or folder that a crash left
	Archive = "archive" // a session's logs go into the owner's cold store
	Delete  = "delete"  // a session, history and all
	Compact = "compact" // a file of the cold store goes, or is written anew without what nothing needs
)

// Action is one step of a plan.
type Action struct {
	Do     string `json:"do"`
	Path   string `json:"path"`  // relative to the store
	Bytes  int64  `json:"bytes"` // that it is about: those of the logs for Archive, else about what becomes free
	Reason string `json:"reason"`
	all    bool   // Path is a folder that goes with all that is in it
}

// Plan is what a run would do.
type Plan struct {
	Actions []Action `json:"actions"`
	Bytes   int64    `json:"bytes"` // of all actions but Archive
	owners  []string // those that have a cold store
	before  time.Time
	step    func(done, all int)
}

// Options of a plan.
type Options struct {
	Now time.Time // ages are counted from it
	// ArchiveAfter is for sessions whose gc.policy does not say archive_after; 0: they stay.
	ArchiveAfter time.Duration
	// Step, unless nil, is told how many steps of how many a run has done: actions, and owners' cold stores.
	Step func(done, all int)
}

// grace is how old a thing must be before it counts as left behind: a writer may be about to name it.
const grace = time.Hour

// Make looks through the store, and changes nothing. When a file that may name blobs cannot be read, there is no plan for
// its owner: the error says so, and the plan is for the others. Users may put anything into their homes.
func Make(store *session.Store, opt Options) (*Plan, error) {
	p := &planner{store: store, dir: store.Dir(), opt: opt, plan: &Plan{Actions: []Action{}, before: opt.Now.Add(-grace), step: opt.Step}}
	for _, top := range []string{session.StateDir, "agent", "model"} {
		if err := p.temps(top); err != nil {
			return nil, err
		}
	}
	owners, err := store.Owners()
	for _, o := range owners {
		if oerr := p.all(o); oerr != nil {
			err = errors.Join(err, fmt.Errorf("%s is left as it is: %w", o, oerr))
		}
	}
	return p.plan, err
}

// all plans for one owner: nothing when something of the owner's cannot be read.
func (p *planner) all(owner string) error {
	actions, bytes, owners := len(p.plan.Actions), p.plan.Bytes, len(p.plan.owners)
	err := p.store.ContainersOf(owner, p.container)
	if err == nil {
		err = p.owner(owner)
	}
	if err != nil {
		p.plan.Actions, p.plan.Bytes, p.plan.owners = p.plan.Actions[:actions], bytes, p.plan.owners[:owners]
	}
	return err
}

type planner struct {
	store *session.Store
	dir   *beneath.Dir
	opt   Options
	plan  *Plan
}

func (p *planner) add(a Action) {
	p.plan.Actions = append(p.plan.Actions, a)
	if a.Do != Archive {
		p.plan.Bytes += a.Bytes
	}
}

// list gives a folder's entries; one that is not there, or went away, is empty.
func (p *planner) list(rel string) ([]fs.DirEntry, error) {
	entries, err := p.dir.ReadDir(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// owner plans for one owner: leftover temporary files, deleted sessions, and the cold store.
func (p *planner) owner(rel string) error {
	if err := p.leftovers(rel); err != nil {
		return err
	}
	state := path.Join(rel, session.StateDir)
	if err := p.temps(state); err != nil {
		return err
	}
	if err := p.trash(path.Join(state, session.Trash)); err != nil {
		return err
	}
	list, found, err := planCold(p.store, rel, p.plan.before)
	if err != nil {
		return err
	}
	if found {
		p.plan.owners = append(p.plan.owners, rel)
	}
	for _, a := range list {
		p.add(a)
	}
	return nil
}

// trash plans for the sessions that were deleted, and that a crash left on their way out. No age is asked: who deletes
// one at this moment does the same.
func (p *planner) trash(rel string) error {
	entries, err := p.list(rel)
	if err != nil {
		return err
	}
	for _, e := range entries {
		a := Action{Do: Remove, Path: path.Join(rel, e.Name()), Reason: "deleted session that a crash left", all: true}
		if a.Bytes, err = p.size(a.Path); err != nil {
			return err
		}
		p.add(a)
	}
	return nil
}

// size adds up the files at and below rel.
func (p *planner) size(rel string) (int64, error) {
	st, err := p.dir.Stat(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return st.Size, err
	}
	entries, err := p.list(rel)
	var sum int64
	for _, e := range entries {
		n, err := p.size(path.Join(rel, e.Name()))
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, err
}

// temps plans for the temporary files in a folder that holds nothing else of interest.
func (p *planner) temps(rel string) error {
	entries, err := p.list(rel)
	if err != nil {
		return err
	}
	for _, e := range entries {
		sub := path.Join(rel, e.Name())
		if e.IsDir() && e.Name() == session.Trash {
			continue // it goes whole
		}
		if e.IsDir() {
			if err := p.temps(sub); err != nil {
				return err
			}
		}
		p.temp(sub, e)
	}
	return nil
}

// temp plans for a file if it is a temporary one, and tells whether it is.
func (p *planner) temp(rel string, e fs.DirEntry) {
	if e.Type().IsRegular() && strings.HasPrefix(e.Name(), beneath.TempPrefix) {
		p.old(rel, "temporary file that a crash left")
	}
}

// leftovers visits every folder of the owner but its state folder and its agents' roots, and plans for the temporary
// files there.
func (p *planner) leftovers(rel string) error {
	entries, err := p.list(rel)
	if err != nil {
		return err
	}
	for _, e := range entries {
		sub := path.Join(rel, e.Name())
		switch {
		case e.IsDir() && isHalfMade(sub):
			p.old(sub, "session that a crash left half made")
		case e.IsDir() && e.Name() != session.StateDir && !isRoot(sub):
			if err := p.leftovers(sub); err != nil {
				return err
			}
		}
		p.temp(sub, e)
	}
	return nil
}

// isHalfMade tells whether a folder is that of a session that has no name yet.
func isHalfMade(rel string) bool {
	parts := strings.Split(rel, "/")
	return len(parts) == 6 && parts[4] == "session" && strings.HasPrefix(parts[5], beneath.TempPrefix)
}

// isRoot tells whether a folder is an agent's root: its files are the agent's, and hold no references.
func isRoot(rel string) bool {
	parts := strings.Split(rel, "/")
	return len(parts) == 5 && parts[4] == "root"
}

// old adds a file, or a folder with all that is in it, to the plan when it is old enough.
func (p *planner) old(rel, reason string) {
	st, err := p.dir.Stat(rel)
	if err != nil || young(st, p.plan.before) {
		return
	}
	p.add(Action{Do: Remove, Path: rel, Bytes: st.Size, Reason: reason, all: st.Mode&unix.S_IFMT == unix.S_IFDIR})
}

func young(st unix.Stat_t, before time.Time) bool { return !time.Unix(st.Mtim.Unix()).Before(before) }

// container plans what the policies of an agent's sessions say.
func (p *planner) container(c *session.Container) error {
	names, err := c.Names()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, name := range names {
		x, serr := c.Session(name)
		if serr == nil {
			serr = p.session(x)
		}
		if serr != nil && !errors.Is(serr, fs.ErrNotExist) { // it went away meanwhile
			return fmt.Errorf("%s/%s: %w", c.SessionsRel(), name, serr)
		}
	}
	return err
}
