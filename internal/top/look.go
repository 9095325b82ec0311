package top

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ctxfs/internal/session"

	"golang.org/x/sys/unix"
)

// Looker looks at the sessions of a mount. It is for one goroutine.
type Looker struct {
	point   string // the mountpoint
	uid     int    // who looks: 0 sees all homes
	last    int    // how many of each agent's sessions, those that changed last; 0: all
	rows    map[string]*Row
	folders map[string]*folder
	turn    int
	at      time.Time // of the last look
	closely int       // sessions that were looked at closely, ever
}

// folder is an agent's folder of sessions.
type folder struct {
	list   []byte    // index/list, at the last look
	newest time.Time // the latest change that was seen
	turn   int       // of the last look
}

// New gives a looker at the sessions that a user may see: their own, and those of shares; root sees all.
func New(point string, uid, last int) *Looker {
	return &Looker{point: point, uid: uid, last: last, rows: map[string]*Row{}, folders: map[string]*folder{}}
}

// Look brings the rows up to now. Sessions in shown, by their path in the mount, are looked at though they did not change: their packs
// may have been read. The error tells that the mount is not there any more.
func (l *Looker) Look(now time.Time, shown []string) error {
	if _, err := os.Stat(l.point); err != nil {
		return err
	}
	l.turn++
	since := now.Sub(l.at).Seconds()
	if l.at.IsZero() {
		since = 0
	}
	l.at = now
	for _, r := range l.rows {
		r.BytesPerSecond, r.RecordsPerSecond = 0, 0
	}
	for _, dir := range l.agents() {
		l.folder(path.Join(dir, "session"), since)
		l.temps(path.Join(dir, "temp"), since)
	}
	for dir, f := range l.folders {
		if f.turn != l.turn {
			l.forget(dir, nil)
			delete(l.folders, dir)
		}
	}
	for _, s := range shown {
		if r := l.rows[s]; r != nil && r.turn != l.turn {
			l.close(s, since)
		}
	}
	return nil
}

// Rows gives what is known of the sessions.
func (l *Looker) Rows() []Row {
	out := make([]Row, 0, len(l.rows))
	for _, key := range slices.Sorted(maps.Keys(l.rows)) {
		out = append(out, *l.rows[key])
	}
	return out
}

// Closely is how many sessions were looked at closely so far, each as often as it was.
func (l *Looker) Closely() int { return l.closely }

// agents lists the folders of agents and models.
func (l *Looker) agents() (list []string) {
	owners := []string{path.Join("home", strconv.Itoa(l.uid))}
	if l.uid == 0 {
		owners = l.names("home")
	}
	for _, o := range append(owners, l.names("shared")...) {
		for _, kind := range []string{"agent", "model"} {
			list = append(list, l.names(path.Join(o, kind))...)
		}
	}
	return list
}

// names lists the folders in a folder, by their paths; none when it is not there, or closed.
func (l *Looker) names(dir string) (list []string) {
	entries, _ := os.ReadDir(filepath.Join(l.point, dir))
	for _, e := range entries {
		if e.IsDir() {
			list = append(list, path.Join(dir, e.Name()))
		}
	}
	return list
}

// folder looks at the sessions of an agent. They are listed by their last change, newest first: behind one that is older than what was
// the newest at the last look, nothing has changed.
func (l *Looker) folder(dir string, since float64) {
	list, err := os.ReadFile(filepath.Join(l.point, dir, "index/list")) // #nosec G304 -- in a mount that the kernel lists
	if err != nil {
		return
	}
	f := l.folders[dir]
	first := f == nil
	if first {
		f = &folder{}
		l.folders[dir] = f
	}
	f.turn = l.turn
	names := strings.Fields(string(list))
	if !first && !bytes.Equal(list, f.list) {
		l.forget(dir, names)
	}
	f.list = list
	before := f.newest
	for i, name := range names {
		if l.last > 0 && i == l.last {
			break
		}
		r := l.close(path.Join(dir, name), since)
		if r == nil {
			continue // it went away
		}
		if r.Updated.After(f.newest) {
			f.newest = r.Updated
		}
		if !first && r.Updated.Before(before) {
			break
		}
	}
}

// temps looks at temporary sessions: they have no index, and are few.
func (l *Looker) temps(dir string, since float64) {
	found := l.names(dir)
	if len(found) == 0 && l.folders[dir] == nil {
		return
	}
	l.folders[dir] = &folder{turn: l.turn}
	var names []string
	for _, s := range found {
		names = append(names, path.Base(s))
		l.close(s, since)
	}
	l.forget(dir, names)
}

// forget drops the rows of a folder that are not among names.
func (l *Looker) forget(dir string, names []string) {
	there := make(map[string]bool, len(names))
	for _, n := range names {
		there[n] = true
	}
	for s := range l.rows {
		if path.Dir(s) == dir && !there[path.Base(s)] {
			delete(l.rows, s)
		}
	}
}

// close looks at one session closely, and gives its row; nil when it is not there.
func (l *Looker) close(s string, since float64) *Row {
	g, err := l.glance(s)
	if errors.Is(err, fs.ErrNotExist) {
		delete(l.rows, s)
		return nil
	}
	if err != nil {
		return nil
	}
	l.closely++
	r := l.rows[s]
	if r == nil {
		r = &Row{Session: s, Name: l.shortName(s), Glance: g}
		l.rows[s] = r
	} else if since > 0 { // what is not looked at does not change
		r.BytesPerSecond = max(float64(g.Bytes-r.Bytes), 0) / since
		r.RecordsPerSecond = max(float64(g.Added-r.Added), 0) / since // less: the daemon's worker is another one
	}
	r.Glance, r.turn = g, l.turn
	return r
}

// glance asks the mount what it knows of a session.
func (l *Looker) glance(s string) (g session.Glance, err error) {
	var buf [8 << 10]byte
	n, err := unix.Lgetxattr(filepath.Join(l.point, s), session.GlanceAttr, buf[:])
	if err != nil {
		return g, err
	}
	return g, json.Unmarshal(buf[:n], &g)
}

// shortName is how people name a session of their own.
func (l *Looker) shortName(s string) string {
	p := strings.Split(s, "/")
	if len(p) != 6 || p[0] != "home" || p[1] != strconv.Itoa(l.uid) {
		return s
	}
	name := p[3] + "/" + p[5]
	if p[4] == "temp" {
		name += " (temp)"
	}
	return name
}
