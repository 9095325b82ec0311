package session

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"ctxfs/internal/context/pack"

	"golang.org/x/sys/unix"
)

// MaxPinned is how many bytes of one pinned file or child result a pack takes in: 16 MiB. More is read as missing.
const MaxPinned = 16 << 20

// What a pack takes in of all pinned files, and of all children's results: more is TooLarge, as one file of more than MaxPinned
// is. Files that take no disk can be as many and as long as one likes.
const (
	maxPinnedAll   = 64 << 20
	maxPinnedFiles = 20_000
)

// gathered counts what is taken in.
type gathered struct{ files, bytes int }

func (g *gathered) add(what string, data []byte) error {
	g.files++
	if g.bytes += len(data); g.files > maxPinnedFiles || g.bytes > maxPinnedAll {
		return refuse(TooLarge, "%s holds more than %d files or %d bytes, which is too much for a pack", what, maxPinnedFiles, maxPinnedAll)
	}
	return nil
}

// input gathers all that a pack at a budget (0: the session's own) is a function of; mu is held.
func (x *Session) input(budget int) (pack.Input, error) {
	b, err := x.budget()
	if err != nil {
		return pack.Input{}, err
	}
	in := pack.Input{Session: x.Name(), Agent: x.c.Agent, Budget: b.Tokens, Reserve: b.Reserve, History: x.fold}
	if budget > 0 {
		in.Budget, in.Reserve = budget, 0
	}
	if in.Pinned, err = x.pinned(); err != nil {
		return in, err
	}
	if in.Authored, err = x.authored(); err != nil {
		return in, err
	}
	if err := x.shape(&in); err != nil {
		return in, err
	}
	if in.Imported, err = x.imported(); err != nil {
		return in, err
	}
	in.Children, err = x.children()
	return in, err
}

// budget reads context/budget, with the store's default filled in.
func (x *Session) budget() (Budget, error) {
	data, err := x.optional("context/budget")
	if err != nil {
		return Budget{}, err
	}
	b, err := ParseBudget(data)
	if err != nil { // written past ctxfs: the default is better than no pack
		b = Budget{}
	}
	if b.Tokens == 0 {
		b.Tokens = x.store.opt.Budget
	}
	return b, nil
}

// readFile reads a small file of the session, which may move meanwhile.
func (x *Session) readFile(name string) (data []byte, err error) {
	err = x.steady(func() error { data, err = x.store.dir.ReadFile(x.file(name), MaxControl); return err })
	return data, err
}

// optional reads a file of the session, which does not move; one that is not there is nil.
func (x *Session) optional(name string) ([]byte, error) {
	data, err := x.store.dir.ReadFile(x.file(name), MaxPinned)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if data == nil && err == nil {
		data = []byte{}
	}
	return data, err
}

func (x *Session) pinned() ([]pack.File, error) {
	entries, err := x.list("context/pinned")
	if err != nil {
		return nil, err
	}
	var files []pack.File
	var all gathered
	for _, e := range entries {
		name := "context/pinned/" + e.Name()
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			continue // temporary files of editors, folders and links are not pinned text
		}
		data, err := x.optional(name)
		if err != nil {
			return nil, err
		}
		if err := all.add("context/pinned", data); err != nil {
			return nil, err
		}
		files = append(files, pack.File{Path: name, Data: data})
	}
	return files, nil
}

// list reads a folder of the session; one that is not there is empty.
func (x *Session) list(name string) ([]fs.DirEntry, error) {
	entries, err := x.store.dir.ReadDir(x.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

func (x *Session) authored() (pack.Authored, error) {
	var a pack.Authored
	for _, f := range []struct {
		name string
		to   *[]byte
	}{
		{"summary.md", &a.Summary}, {"facts.jsonl", &a.Facts}, {"decisions.jsonl", &a.Decisions}, {"todo.md", &a.Todo}, {"refs.jsonl", &a.Refs},
	} {
		data, err := x.optional("context/" + f.name)
		if err != nil {
			return a, err
		}
		*f.to = data
	}
	return a, nil
}

func (x *Session) children() ([]pack.Child, error) {
	entries, err := x.list("context/child")
	if err != nil {
		return nil, err
	}
	var out []pack.Child
	var all gathered
	for _, e := range entries {
		if !e.IsDir() || CheckName(e.Name()) != nil {
			continue
		}
		c, err := x.child(e.Name(), &all)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func (x *Session) child(id string, all *gathered) (pack.Child, error) {
	dir := path.Join("context/child", id)
	c := pack.Child{ID: id}
	var status []byte
	for _, f := range []struct {
		name string
		to   *[]byte
	}{{"status", &status}, {"result.md", &c.Result}, {"handoff.md", &c.Handoff}} {
		data, err := x.optional(path.Join(dir, f.name))
		if err != nil {
			return c, err
		}
		if err := all.add("context/child", data); err != nil {
			return c, err
		}
		*f.to = data
	}
	c.Status = strings.TrimSpace(string(status))
	return c, nil
}

// ChildHeld tells whether the parent's context refers to the child: then its result must stay (Context Runtime ABI,
// Context GC). References are `child:<id>` lines in pinned/*.ref, and paths in an agent's own refs.jsonl.
func (x *Session) ChildHeld(id string) (bool, error) {
	pinned, err := x.pinned()
	if err != nil {
		return false, err
	}
	for _, f := range pinned {
		if !strings.HasSuffix(f.Path, ".ref") {
			continue
		}
		for line := range strings.Lines(string(f.Data)) {
			if strings.TrimSpace(line) == "child:"+id {
				return true, nil
			}
		}
	}
	refs, err := x.optional("context/refs.jsonl")
	return strings.Contains(string(refs), "context/child/"+id+"/") || strings.Contains(string(refs), `"child:`+id+`"`), err
}

// times gives created_at or updated_at.
func (x *Session) times(name string) ([]byte, error) {
	if name == "updated_at" {
		t, err := x.Updated()
		return []byte(stamp(t) + "\n"), err
	}
	data, err := x.readFile("meta.json")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if at := metaField(data, "created_at"); at != "" {
		return []byte(at + "\n"), nil
	}
	// A session made by hand: the first thing known of it is its directory.
	var st unix.Stat_t
	err = x.steady(func() (err error) { st, err = x.store.dir.Stat(x.rel()); return err })
	return []byte(stamp(timeOf(minTime(st.Mtim, st.Ctim))) + "\n"), err
}

func minTime(a, b unix.Timespec) unix.Timespec {
	if a.Sec < b.Sec || a.Sec == b.Sec && a.Nsec < b.Nsec {
		return a
	}
	return b
}
