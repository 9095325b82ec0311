package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ctxfs/internal/mounts"
)

// place is an agent's or a model's folder in a mount or a store, and a session in it.
type place struct {
	root    string // the mountpoint, or the store's directory
	owner   string // home/UID or shared/NAME
	kind    string // agent or model
	agent   string // the name; a model's without .d
	folder  string // session or temp
	session string // "" where the place is the agent's as a whole
}

// Values of place.kind and place.folder.
const (
	ofAgent   = "agent"
	ofModel   = "model"
	permanent = "session"
	temporary = "temp"
)

// modelSuffix ends the name of a model's folder.
const modelSuffix = ".d"

var placeRe = regexp.MustCompile(`^(.*)/(home/[0-9]+|shared/[^/]+)/(?:(agent)/([^/]+)|(model)/([^/]+)\.d)/(session|temp)/([^/]+)$`)

// placeOf returns the place of the session whose directory is the absolute path abs; ok is false when it is no session's.
func placeOf(abs string) (p place, ok bool) {
	m := placeRe.FindStringSubmatch(abs)
	if m == nil || m[8] == "index" {
		return p, false
	}
	return place{root: orElse(m[1], "/"), owner: m[2], kind: m[3] + m[5], agent: m[4] + m[6], folder: m[7], session: m[8]}, true
}

// ownHome is the caller's home in a mount or a store.
func ownHome() string { return path.Join("home", strconv.Itoa(os.Getuid())) }

// home is the directory of the agent or model.
func (p place) home() string {
	name := p.agent
	if p.kind == ofModel {
		name += modelSuffix
	}
	return filepath.Join(p.root, p.owner, p.kind, name)
}

// sessions is the directory of the agent's sessions.
func (p place) sessions() string { return filepath.Join(p.home(), p.folder) }

// dir is the session's directory.
func (p place) dir() string { return filepath.Join(p.sessions(), p.session) }

// container is the agent's or model's folder below the root.
func (p place) container() string { return path.Join(p.owner, p.kind, filepath.Base(p.home())) }

// name is how ctxfs prints a session of the caller's: AGENT/SESSION, or MODEL.d/SESSION.
func (p place) name() string { return filepath.Base(p.home()) + "/" + p.session }

// mounted reports whether the place is in a mount of ctxfs.
func (p place) mounted() bool {
	m, ok, err := mounts.At(p.root)
	return err == nil && ok && m.Point == p.root
}

// exists reports whether name exists. What may not be looked at exists: the command says so when it uses it.
func exists(name string) bool {
	_, err := os.Stat(name)
	return !os.IsNotExist(err)
}

// agents returns the names of the owner's agents, or of its models.
func (p place) agents() (names []string) {
	for _, name := range folders(filepath.Join(p.root, p.owner, p.kind)) {
		names = append(names, strings.TrimSuffix(name, modelSuffix))
	}
	return names
}

// folders returns the names of the folders in dir; none when it is not there, or not the caller's to list.
func folders(dir string) (names []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// names returns the agent's sessions as AGENT/SESSION.
func (p place) names() (names []string) {
	for _, p.session = range p.list() {
		names = append(names, p.name())
	}
	return names
}

// list returns the names of the agent's sessions: in a mount the newest first.
func (p place) list() []string {
	if p.folder == permanent {
		if names, err := sessionNames(p.sessions()); err == nil {
			return names
		}
	}
	return slices.DeleteFunc(folders(p.sessions()), func(name string) bool { return name == "index" })
}
