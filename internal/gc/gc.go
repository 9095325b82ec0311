// Package gc removes from a store what nothing needs: first a plan, then its execution. It never touches
// messages.jsonl and events.jsonl (Context Runtime ABI, Context GC); it works beside a running mount.
package gc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"ctxfs/internal/beneath"
	"ctxfs/internal/cas"
	"ctxfs/internal/session"

	"golang.org/x/sys/unix"
)

// Action is one step of a plan.
type Action struct {
	Path   string `json:"path"` // relative to the store
	Bytes  int64  `json:"bytes"`
	Reason string `json:"reason"`
	all    bool   // Path is a folder that goes with all that is in it
}

// Plan is what a run would remove.
type Plan struct {
	Actions []Action `json:"actions"`
	Bytes   int64    `json:"bytes"`
	before  time.Time
}

// grace is how old a thing must be before it counts as left behind: a writer may be about to name it.
const grace = time.Hour

// Make looks through the store. now is the time that ages are counted from. When a file that may name blobs cannot be
// read, there is no plan.
func Make(store *session.Store, now time.Time) (*Plan, error) {
	p := &planner{dir: store.Dir(), plan: &Plan{Actions: []Action{}, before: now.Add(-grace)}}
	for _, top := range []string{session.StateDir, "agent", "model"} {
		if err := p.temps(top); err != nil {
			return nil, err
		}
	}
	for _, top := range []string{"home", "shared"} {
		owners, err := p.list(top)
		if err != nil {
			return nil, err
		}
		for _, o := range owners {
			if !o.IsDir() {
				continue
			}
			if err := p.owner(path.Join(top, o.Name())); err != nil {
				return nil, err
			}
		}
	}
	return p.plan, nil
}

type planner struct {
	dir   *beneath.Dir
	plan  *Plan
	named map[string]bool // blob ids that an owner's logs and files name
}

// list gives a folder's entries; one that is not there, or went away, is empty.
func (p *planner) list(rel string) ([]fs.DirEntry, error) {
	entries, err := p.dir.ReadDir(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// owner plans for one owner: leftover temporary files, and blobs that no log and no file of the owner names.
func (p *planner) owner(rel string) error {
	p.named = map[string]bool{}
	if err := p.walk(rel); err != nil {
		return err
	}
	state := path.Join(rel, session.StateDir)
	if err := p.temps(state); err != nil {
		return err
	}
	if err := p.trash(path.Join(state, session.Trash)); err != nil {
		return err
	}
	blobs := cas.NewDir(p.dir, path.Join(state, "blob"), beneath.Owner{})
	return blobs.Each(func(id cas.ID, size int64) error {
		if !p.named[id.String()] {
			p.old(path.Join(state, "blob", id.String()[7:9], id.String()), "no record names this blob")
		}
		return nil
	}, nil)
}

// trash plans for the sessions that were deleted, and that a crash left on their way out. No age is asked: who deletes
// one at this moment does the same.
func (p *planner) trash(rel string) error {
	entries, err := p.list(rel)
	if err != nil {
		return err
	}
	for _, e := range entries {
		a := Action{Path: path.Join(rel, e.Name()), Reason: "deleted session that a crash left", all: true}
		if a.Bytes, err = p.size(a.Path); err != nil {
			return err
		}
		p.plan.Actions = append(p.plan.Actions, a)
		p.plan.Bytes += a.Bytes
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
func (p *planner) temp(rel string, e fs.DirEntry) bool {
	if !e.Type().IsRegular() || !strings.HasPrefix(e.Name(), beneath.TempPrefix) {
		return false
	}
	p.old(rel, "temporary file that a crash left")
	return true
}

// walk visits every file of the owner but what is in its state folder and its agents' roots.
func (p *planner) walk(rel string) error {
	entries, err := p.list(rel)
	if err != nil {
		return err
	}
	for _, e := range entries {
		sub := path.Join(rel, e.Name())
		switch {
		case e.IsDir() && (e.Name() == session.StateDir || isRoot(sub)):
		case e.IsDir():
			err = p.walk(sub)
		case p.temp(sub, e):
		case e.Type().IsRegular():
			err = p.scan(sub)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isRoot tells whether a folder is an agent's root: its files are the agent's, and hold no references.
func isRoot(rel string) bool {
	parts := strings.Split(rel, "/")
	return len(parts) == 5 && parts[4] == "root"
}

// scan notes the blob ids that a file names.
func (p *planner) scan(rel string) error {
	f, err := p.dir.OpenFile(rel, unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it went away meanwhile
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := scanIDs(f, func(id string) { p.named[id] = true }); err != nil {
		return fmt.Errorf("%s may name blobs, and cannot be read: %w", rel, err)
	}
	return nil
}

const readSize = 1 << 20

// scanIDs gives the blob ids in r to note, some more than once.
func scanIDs(r io.Reader, note func(id string)) error {
	const idLen = len("blake3-") + 64
	buf := make([]byte, readSize)
	keep := 0
	for {
		n, err := r.Read(buf[keep:])
		chunk := buf[:keep+n]
		for at := 0; ; {
			i := bytes.Index(chunk[at:], []byte("blake3-"))
			if i < 0 || at+i+idLen > len(chunk) {
				break
			}
			if id := chunk[at+i : at+i+idLen]; isID(id) {
				note(string(id))
			}
			at += i + 1
		}
		keep = copy(buf, chunk[max(0, len(chunk)-idLen):]) // an id may go on in what comes next
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// isID tells whether s, which starts as an id does, is one. It is asked often, and mostly of ids.
func isID(s []byte) bool {
	for _, c := range s[len("blake3-"):] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// old adds a file to the plan when it is old enough.
func (p *planner) old(rel, reason string) {
	st, err := p.dir.Stat(rel)
	if err != nil || young(st, p.plan.before) {
		return
	}
	p.plan.Actions = append(p.plan.Actions, Action{Path: rel, Bytes: st.Size, Reason: reason})
	p.plan.Bytes += st.Size
}

func young(st unix.Stat_t, before time.Time) bool { return !time.Unix(st.Mtim.Unix()).Before(before) }
