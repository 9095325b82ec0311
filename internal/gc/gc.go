// Package gc removes from a store what nothing needs: first a plan, then its execution. It never touches
// messages.jsonl and events.jsonl (Context Runtime ABI, Context GC); it works beside a running mount.
package gc

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"

	"ctxfs/internal/beneath"
	"ctxfs/internal/cas"
	"ctxfs/internal/session"
)

// Action is one step of a plan.
type Action struct {
	Path   string `json:"path"` // relative to the store
	Bytes  int64  `json:"bytes"`
	Reason string `json:"reason"`
}

// Plan is what a run would remove.
type Plan struct {
	Actions []Action `json:"actions"`
	Bytes   int64    `json:"bytes"`
}

// grace is how old a thing must be before it counts as left behind: a writer may be about to name it.
const grace = time.Hour

// Make looks through the store. now is the time that ages are counted from.
func Make(store *session.Store, now time.Time) (*Plan, error) {
	p := &planner{dir: store.Dir(), before: now.Add(-grace), plan: &Plan{Actions: []Action{}}}
	for _, top := range []string{"home", "shared"} {
		owners, err := p.names(top)
		if err != nil {
			return nil, err
		}
		for _, o := range owners {
			if err := p.owner(path.Join(top, o)); err != nil {
				return nil, err
			}
		}
	}
	return p.plan, nil
}

type planner struct {
	dir    *beneath.Dir
	before time.Time
	plan   *Plan
	named  map[string]bool // blob ids that an owner's logs and files name
}

// names lists a folder; one that is not there is empty.
func (p *planner) names(rel string) ([]string, error) {
	entries, err := p.dir.ReadDir(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out, err
}

// owner plans for one owner: leftover temporary files, and blobs that no log and no file of the owner names.
func (p *planner) owner(rel string) error {
	p.named = map[string]bool{}
	if err := p.walk(rel); err != nil {
		return err
	}
	blobs := cas.NewDir(p.dir, path.Join(rel, session.StateDir, "blob"), beneath.Owner{})
	return blobs.Each(func(id cas.ID, size int64) error {
		if !p.named[id.String()] {
			p.old(path.Join(rel, session.StateDir, "blob", id.String()[7:9], id.String()), "no record names this blob")
		}
		return nil
	}, nil)
}

// walk visits every file of the owner but blobs and quarantine.
func (p *planner) walk(rel string) error {
	entries, err := p.dir.ReadDir(rel)
	if err != nil {
		return err
	}
	for _, e := range entries {
		sub := path.Join(rel, e.Name())
		switch {
		case e.IsDir() && e.Name() == session.StateDir:
			continue
		case e.IsDir():
			err = p.walk(sub)
		case strings.HasPrefix(e.Name(), beneath.TempPrefix):
			p.old(sub, "temporary file that a crash left")
		case e.Type().IsRegular() && !inRoot(sub):
			err = p.scan(sub)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inRoot tells whether a path is of an agent's root, which holds no references.
func inRoot(rel string) bool {
	parts := strings.Split(rel, "/")
	return len(parts) > 4 && parts[4] == "root"
}

// scan notes the blob ids that a file names.
func (p *planner) scan(rel string) error {
	f, err := p.dir.OpenFile(rel, 0, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it went away meanwhile
	}
	if err != nil {
		return err
	}
	defer f.Close()
	const idLen = len("blake3-") + 64
	buf := make([]byte, 1<<20)
	keep := 0
	for {
		n, err := f.Read(buf[keep:])
		chunk := buf[:keep+n]
		for at := 0; ; {
			i := bytes.Index(chunk[at:], []byte("blake3-"))
			if i < 0 || at+i+idLen > len(chunk) {
				break
			}
			if id := string(chunk[at+i : at+i+idLen]); isID(id) {
				p.named[id] = true
			}
			at += i + 1
		}
		keep = copy(buf, chunk[max(0, len(chunk)-idLen):])
		if err != nil {
			return nil // end of file, or a file that cannot be read: verify tells of that
		}
	}
}

func isID(s string) bool {
	_, err := cas.Parse(s)
	return err == nil
}

// old adds a file to the plan when it is old enough.
func (p *planner) old(rel, reason string) {
	st, err := p.dir.Stat(rel)
	if err != nil || !time.Unix(st.Mtim.Unix()).Before(p.before) {
		return
	}
	p.plan.Actions = append(p.plan.Actions, Action{Path: rel, Bytes: st.Size, Reason: reason})
	p.plan.Bytes += st.Size
}

// Run carries a plan out. It goes on after a failure and gives how much was freed, in bytes, and the failures joined.
func Run(store *session.Store, plan *Plan) (int64, error) {
	var freed int64
	var errs []error
	for _, a := range plan.Actions {
		err := store.Dir().Unlink(a.Path)
		if err == nil {
			freed += a.Bytes
		} else if !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return freed, errors.Join(errs...)
}
