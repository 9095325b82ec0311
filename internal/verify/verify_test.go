package verify

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ctxfs/internal/beneath"
	"ctxfs/internal/cas"
	"ctxfs/internal/chunkstore"
	"ctxfs/internal/session"

	"golang.org/x/sys/unix"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const rel = "home/1000/agent/coder/session/s"

// two are the records of fixture's session.
const two = "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"assistant\",\"content\":\"b\"}\n"

// fixture makes a store with a session of two records, one event more than ctxfs writes itself, and a blob.
func fixture(t *testing.T) (dir string, id cas.ID) {
	t.Helper()
	dir = t.TempDir()
	store, err := session.Open(dir, session.Options{})
	must(t, err)
	defer store.Close()
	c, err := store.Container("home/1000/agent/coder")
	must(t, err)
	by := session.Caller{UID: 1000, GID: 1000}
	x, err := c.Create("s", by)
	must(t, err)
	for name, lines := range map[string]string{session.Messages: two, session.Events: "{\"type\":\"x\"}\n"} {
		log, err := x.Log(name)
		must(t, err)
		must(t, log.Commit([]byte(lines)))
		x.Release()
	}
	for name, data := range map[string]string{"cwd": "/", "context/budget": "9000\n", "context/gc.policy": "pack_ttl=1d\n", "context/facts.jsonl": "{\"fact\":\"x\"}\n", "context/summary.md": "So far.\n"} {
		must(t, x.WriteControl(name, []byte(data), by))
	}
	cold, err := session.OpenCold(store.Dir(), "home/1000", chunkstore.Options{Owner: beneath.Owner{UID: 1000, GID: 1000, Chown: os.Geteuid() == 0}})
	must(t, err)
	defer cold.Close()
	id, err = cold.Put([]byte("picture"))
	must(t, err)
	return dir, id
}

func check(t *testing.T, dir string) *Report {
	t.Helper()
	store, err := session.Open(dir, session.Options{ReadOnly: true})
	must(t, err)
	defer store.Close()
	done := make(chan *Report, 1)
	go func() {
		steps := 0
		r, err := Store(store, func(done, all int) {
			if done != steps || done >= all {
				t.Errorf("step %d of %d is told as %d", steps, all, done)
			}
			steps++
		})
		if r != nil && steps < r.Sessions {
			t.Errorf("%d steps of %d sessions were told", steps, r.Sessions)
		}
		if err != nil {
			t.Errorf("verify gave up: %v", err)
		}
		done <- r
	}()
	select {
	case r := <-done:
		return r
	case <-time.After(20 * time.Second):
		t.Fatal("verify waits")
		return nil
	}
}

func TestClean(t *testing.T) {
	dir, _ := fixture(t)
	before := tree(t, dir)
	r := check(t, dir)
	size := int64(0)
	for _, f := range []string{rel + "/messages.jsonl", rel + "/events.jsonl"} {
		st, err := os.Stat(filepath.Join(dir, f))
		must(t, err)
		size += st.Size()
	}
	if len(r.Problems) != 0 || r.Problems == nil || r.Sessions != 1 || r.Records != 2 || r.Events != 1 || r.Blobs != 1 || r.Bytes != size+7 || r.Quarantined != 0 {
		t.Errorf("%+v", r)
	}
	if after := tree(t, dir); !slices.Equal(before, after) {
		t.Errorf("verify changed the store:\n%s", strings.Join(after, "\n"))
	}
	empty := check(t, mkdir(t))
	if len(empty.Problems) != 0 || empty.Sessions != 0 {
		t.Errorf("an empty store: %+v", empty)
	}
}

func mkdir(t *testing.T) string {
	dir := t.TempDir()
	store, err := session.Open(dir, session.Options{})
	must(t, err)
	must(t, store.Close())
	return dir
}

// TestDamage does one thing at a time to a clean store: verify names the file, and nothing else.
func TestDamage(t *testing.T) {
	const messages, events = rel + "/messages.jsonl", rel + "/events.jsonl"
	for _, c := range []struct {
		name   string
		damage func(d damager)
		path   string // of the problem; "": none
		text   string // a part of what is said of it
	}{
		{"torn line", func(d damager) { d.add(messages, `{"role":"us`) }, messages, "11 bytes are a torn line"},
		{"torn event", func(d damager) { d.add(events, `{}`) }, events, "2 bytes are a torn line"},
		{"NULs at the end", func(d damager) { d.add(messages, "\x00\x00\x00") }, messages, "3 bytes are a torn line"},
		{"bad line at the end", func(d damager) { d.add(messages, "no object\n") }, messages, "line 3: "},
		{"bad line at the start", func(d damager) { d.write(messages, "[]\n"+d.read(messages)) }, messages, "line 1: "},
		{"two objects on a line", func(d damager) { d.add(messages, "{}{}\n") }, messages, "line 3: "},
		{"not UTF-8", func(d damager) { d.add(events, "{\"a\":\"\xff\"}\n") }, events, "line 2: "},
		{"NULs in the middle", func(d damager) { d.add(messages, "\x00\x00{}\n{}\n") }, messages, "line 3: "},
		{"log is a pipe", func(d damager) { d.remove(messages); d.pipe(messages) }, messages, ""},
		{"log is a folder", func(d damager) { d.remove(messages); d.mkdir(messages) }, messages, ""},
		{"log is a link", func(d damager) { d.remove(messages); d.link(messages, "events.jsonl") }, messages, ""},
		{"no log", func(d damager) { d.remove(messages) }, "", ""},

		{"state", func(d damager) { d.write(rel+"/state", "dancing\n") }, rel + "/state", "dancing"},
		{"cwd", func(d damager) { d.write(rel+"/cwd", "work\n") }, rel + "/cwd", ""},
		{"cwd of a root that is cleaned", func(d damager) { d.write(rel+"/cwd", "/work/gone\n") }, "", ""},
		{"cwd is a pipe", func(d damager) { d.remove(rel + "/cwd"); d.pipe(rel + "/cwd") }, rel + "/cwd", ""},
		{"meta.json is no JSON", func(d damager) { d.write(rel+"/meta.json", "{") }, rel + "/meta.json", ""},
		{"meta.json is a list", func(d damager) { d.write(rel+"/meta.json", "[]") }, rel + "/meta.json", ""},
		{"meta.json is null", func(d damager) { d.write(rel+"/meta.json", "null") }, rel + "/meta.json", ""},
		{"meta.json is empty", func(d damager) { d.write(rel+"/meta.json", "") }, rel + "/meta.json", ""},
		{"meta.json and more", func(d damager) { d.write(rel+"/meta.json", "{} {}") }, rel + "/meta.json", ""},
		{"budget", func(d damager) { d.write(rel+"/context/budget", "much\n") }, rel + "/context/budget", "much"},
		{"gc.policy", func(d damager) { d.write(rel+"/context/gc.policy", "x=1\n") }, rel + "/context/gc.policy", ""},
		{"facts", func(d damager) { d.add(rel+"/context/facts.jsonl", "x\n") }, rel + "/context/facts.jsonl", "line 2"},
		{"decisions", func(d damager) { d.write(rel+"/context/decisions.jsonl", "[]\n") }, rel + "/context/decisions.jsonl", "line 1"},
		{"redact", func(d damager) { d.write(rel+"/context/redact", "x ([\n") }, rel + "/context/redact", "line 1"},
		{"policy.json", func(d damager) { d.write(rel+"/context/policy.json", "[]\n") }, rel + "/context/policy.json", ""},
		{"tools", func(d damager) { d.write(rel+"/context/tools.jsonl", "{}\n") }, rel + "/context/tools.jsonl", "line 1"},
		{"injections", func(d damager) { d.write(rel+"/context/injections.jsonl", "{}\n{\n") }, rel + "/context/injections.jsonl", "line 2"},
		{"missing", func(d damager) { d.write(rel+"/context/missing.jsonl", "no\n") }, rel + "/context/missing.jsonl", "line 1"},
		{"imported", func(d damager) { d.write(rel+"/context/imported.json", "{}\n") }, rel + "/context/imported.json", "manifest.json"},
		{"refs", func(d damager) { d.write(rel+"/context/refs.jsonl", "{}\n\n") }, rel + "/context/refs.jsonl", "line 2"},

		{"a picture that is not there", func(d damager) {
			d.add(messages, `{"role":"user","content":[{"type":"image","source":{"type":"blob","ref":"`+cas.Sum([]byte("x")).String()+`"}}]}`+"\n")
		}, messages, "which the owner does not have"},
		{"cold: a bit", func(d damager) { d.flip("home/1000/.ctxfs/chunk/tail-*") }, "home/1000/.ctxfs/chunk/tail-", ""},
		{"cold: no format", func(d damager) { d.remove("home/1000/.ctxfs/chunk/format") }, "home/1000/.ctxfs/chunk", ""},
		{"cold: the folder only", func(d damager) { d.mkdir("home/2000/.ctxfs/chunk"); d.write("home/2000/.ctxfs/chunk/lock", "") }, "", ""},
		{"odd file among the owners", func(d damager) { d.write("home/README", "x") }, "", ""},
		{"odd file among the sessions", func(d damager) { d.write("home/1000/agent/coder/session/notes.txt", "x") }, "", ""},
		{"a name that is none", func(d damager) { d.mkdir("home/1000/agent/coder/session/-x") }, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, id := fixture(t)
			c.damage(damager{t, dir, id})
			r := check(t, dir)
			if c.path == "" {
				if len(r.Problems) != 0 {
					t.Errorf("no damage, and still: %+v", r.Problems)
				}
				return
			}
			if len(r.Problems) == 0 || len(r.Problems) != 1 && !strings.HasPrefix(c.name, "cold") || !strings.HasPrefix(r.Problems[0].Path, c.path) || !strings.Contains(r.Problems[0].Text, c.text) || r.Problems[0].Text == "" {
				t.Errorf("problems %+v, want one of %s: %q", r.Problems, c.path, c.text)
			}
		})
	}
}

// TestManySessions counts over agents, models and shares, and finds each of several problems.
func TestManySessions(t *testing.T) {
	dir, _ := fixture(t)
	d := damager{t: t, dir: dir}
	for _, s := range []string{"home/1000/agent/coder/session/t", "home/1000/model/m.d/session/s", "home/2000/agent/a/session/s", "shared/team/agent/a/session/s", "shared/team/model/m.d/session/s"} {
		d.write(s+"/messages.jsonl", "{}\n{}\n{}\nbad\n")
	}
	d.write("home/1000/.ctxfs/quarantine/coder.s.1", "x")
	d.write("shared/team/.ctxfs/quarantine/coder.s.1", "x")
	r := check(t, dir)
	if r.Sessions != 6 || r.Records != 2+5*4 || r.Events != 1 || r.Quarantined != 2 || len(r.Problems) != 5 {
		t.Errorf("%+v", r)
	}
}

// damager does harm to a store's files.
type damager struct {
	t   *testing.T
	dir string
	id  cas.ID
}

func (d damager) name(rel string) string { return filepath.Join(d.dir, rel) }

// flip turns a bit near the end of the one file of a pattern.
func (d damager) flip(pattern string) {
	list, err := filepath.Glob(d.name(pattern))
	must(d.t, err)
	if len(list) != 1 {
		d.t.Fatalf("%s: %v", pattern, list)
	}
	data, err := os.ReadFile(list[0])
	must(d.t, err)
	data[len(data)-2] ^= 1
	must(d.t, os.Chmod(list[0], 0o600))
	must(d.t, os.WriteFile(list[0], data, 0o600)) // it keeps its owner
}

func (d damager) read(rel string) string {
	data, err := os.ReadFile(d.name(rel))
	must(d.t, err)
	return string(data)
}

func (d damager) write(rel, data string) {
	must(d.t, os.MkdirAll(filepath.Dir(d.name(rel)), 0o700))
	_ = os.Chmod(d.name(rel), 0o600) // a blob is read-only; a new file is not there yet
	must(d.t, os.WriteFile(d.name(rel), []byte(data), 0o600))
	if uid, ok := session.HomeOf(rel); ok && os.Geteuid() == 0 {
		must(d.t, os.Chown(d.name(rel), uid, uid))
	}
}

func (d damager) add(rel, data string) { d.write(rel, d.read(rel)+data) }
func (d damager) remove(rel string)    { must(d.t, os.Remove(d.name(rel))) }
func (d damager) pipe(rel string)      { must(d.t, unix.Mkfifo(d.name(rel), 0o600)) }
func (d damager) mkdir(rel string)     { must(d.t, os.MkdirAll(d.name(rel), 0o700)) }
func (d damager) link(rel, to string)  { must(d.t, os.Symlink(to, d.name(rel))) }

// tree lists every file with its content.
func tree(t *testing.T, top string) []string {
	t.Helper()
	var out []string
	must(t, filepath.Walk(top, func(name string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		out = append(out, name+" "+info.Mode().String()+" "+info.ModTime().String()+" "+string(data))
		return err
	}))
	return out
}
