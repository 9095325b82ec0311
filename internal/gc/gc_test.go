package gc

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"ctxfs/internal/beneath"
	"ctxfs/internal/cas"
	"ctxfs/internal/chunkstore"
	"ctxfs/internal/session"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const owner = "home/1000"

// fixture is a store with one session, and the clock of the test.
type fixture struct {
	t     *testing.T
	store *session.Store
	x     *session.Session
	now   time.Time
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	store, err := session.Open(t.TempDir(), session.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	c, err := store.Container("home/1000/agent/coder")
	must(t, err)
	x, err := c.Create("s", session.Caller{UID: 1000, GID: 1000})
	must(t, err)
	return &fixture{t: t, store: store, x: x, now: time.Now()}
}

// blob puts data as it stands after age.
func (f *fixture) blob(data string, age time.Duration) cas.ID {
	f.t.Helper()
	cold := f.cold(chunkstore.Options{Now: func() time.Time { return f.now.Add(-age) }})
	id, err := cold.Put([]byte(data))
	must(f.t, err)
	must(f.t, cold.Close())
	return id
}

func (f *fixture) cold(opt chunkstore.Options) *chunkstore.Store {
	f.t.Helper()
	opt.Owner = beneath.Owner{UID: 1000, GID: 1000, Chown: os.Geteuid() == 0}
	cold, err := session.OpenCold(f.store.Dir(), owner, opt)
	must(f.t, err)
	return cold
}

// left lists the blobs that are there.
func (f *fixture) left() (texts []string) {
	f.t.Helper()
	cold := f.cold(chunkstore.Options{ReadOnly: true})
	defer cold.Close()
	must(f.t, cold.Each(func(id cas.ID, _ int64) error {
		data, err := cold.Get(id)
		texts = append(texts, string(data))
		return err
	}, nil))
	slices.Sort(texts)
	return texts
}

func (f *fixture) age(rel string, age time.Duration) {
	f.t.Helper()
	at := f.now.Add(-age)
	must(f.t, os.Chtimes(filepath.Join(f.store.Path(), rel), at, at))
}

// file writes a file past the store.
func (f *fixture) file(rel, data string, age time.Duration) {
	f.t.Helper()
	name := filepath.Join(f.store.Path(), rel)
	must(f.t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(f.t, os.WriteFile(name, []byte(data), 0o600))
	if os.Geteuid() == 0 {
		must(f.t, os.Chown(name, 1000, 1000))
	}
	f.age(rel, age)
}

func (f *fixture) plan() []string {
	f.t.Helper()
	plan, err := Make(f.store, Options{Now: f.now})
	must(f.t, err)
	var paths []string
	var sum int64
	for _, a := range plan.Actions {
		st, err := os.Stat(filepath.Join(f.store.Path(), a.Path))
		if err != nil || st.Size() != a.Bytes || a.Reason == "" {
			f.t.Errorf("%+v: %v", a, err)
		}
		paths = append(paths, a.Path)
		sum += a.Bytes
	}
	if sum != plan.Bytes {
		f.t.Errorf("the plan says %d bytes, its actions %d", plan.Bytes, sum)
	}
	return paths
}

func (f *fixture) want(paths ...string) {
	f.t.Helper()
	slices.Sort(paths)
	got := f.plan()
	slices.Sort(got)
	if !slices.Equal(got, paths) {
		f.t.Errorf("the plan removes\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(paths, "\n  "))
	}
}

const old = 2 * time.Hour

func TestNothing(t *testing.T) {
	f := newFixture(t)
	f.want()
	empty, err := session.Open(t.TempDir(), session.Options{})
	must(t, err)
	defer empty.Close()
	plan, err := Make(empty, Options{Now: f.now})
	if err != nil || plan.Actions == nil || len(plan.Actions) != 0 {
		t.Errorf("an empty store: %+v, %v", plan, err)
	}
}

// TestTemps: temporary files that a crash left are found wherever ctxfs writes, once they are old.
func TestTemps(t *testing.T) {
	f := newFixture(t)
	var stale []string
	for _, dir := range []string{f.x.Rel(), f.x.Rel() + "/context", f.x.Rel() + "/context/pinned", "home/1000", "home/1000/.ctxfs/quarantine",
		"shared/team/agent/coder/session/s"} {
		f.file(dir+"/"+beneath.TempPrefix+"old", "half", old)
		f.file(dir+"/"+beneath.TempPrefix+"new", "half", time.Minute)
		f.file(dir+"/notes", "kept", old)
		stale = append(stale, dir+"/"+beneath.TempPrefix+"old")
	}
	f.file("home/1000/agent/coder/root/"+beneath.TempPrefix+"old", "the agent's own", old)
	for name, age := range map[string]time.Duration{"half": old, "young": time.Minute} { // sessions that have no name yet
		dir := "home/1000/agent/coder/session/" + beneath.TempPrefix + name
		f.file(dir+"/messages.jsonl", "", age)
		f.file(dir+"/"+beneath.TempPrefix+"meta", "{}", age)
		f.age(dir, age)
	}
	half := "home/1000/agent/coder/session/" + beneath.TempPrefix + "half"
	f.want(append(stale, half)...)
	plan, err := Make(f.store, Options{Now: f.now})
	must(t, err)
	_, err = Run(f.store, plan, nil)
	must(t, err)
	if _, err := f.store.Dir().Stat(half); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half a session: %v", err)
	}
	f.want()
}

// TestAlive: a blob is alive when any file of the same owner names it.
func TestAlive(t *testing.T) {
	f := newFixture(t)
	want := map[string]bool{}
	name := func(rel, before, blob, after string) {
		id := cas.Sum([]byte(blob)).String()
		f.file(rel, before+id+after, old)
		want[id] = true
	}
	name(f.x.Rel()+"/messages.jsonl", `{"ref":"`, "in messages", "\"}\n")
	name(f.x.Rel()+"/events.jsonl", "{\"x\":\"", "in events", "\"}\n")
	name(f.x.Rel()+"/context/pinned/a.ref", "", "pinned", "\n")
	name(f.x.Rel()+"/context/child/c/artifact/deep/f", "x", "artifact", "0")
	name("home/1000/agent/coder/session/index-like", "blake3-blake3-", "after a false start", "")
	f.file("home/2000/agent/coder/session/s/messages.jsonl", cas.Sum([]byte("named by another owner only")).String(), old)
	f.file("home/1000/agent/coder/root/file", cas.Sum([]byte("named in the agent's root only")).String(), old)
	for range 2 { // plain, then archived
		live, err := alive(f.store, owner, time.Time{})
		must(t, err)
		if !maps.Equal(live.blobs, want) {
			t.Errorf("alive: %v, want %v", live.blobs, want)
		}
		_, err = f.x.Archive()
		must(t, err)
	}
	live, err := alive(f.store, owner, time.Time{})
	must(t, err)
	if len(live.extents) == 0 {
		t.Error("an archived log has no extents")
	}
}

// TestPackTTL: what was shown is alive for as long as pack_ttl says, without one for ever, and when the policy cannot be read.
func TestPackTTL(t *testing.T) {
	f := newFixture(t)
	now := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	young, aged := cas.Sum([]byte("young")).String(), cas.Sum([]byte("aged")).String()
	f.file(f.x.Rel()+"/context/injections.jsonl", `{"hash":"`+aged+`","created_at":"2026-03-01T00:00:00Z"}`+"\n"+`{"hash":"`+young+`","created_at":"2026-03-13T00:00:00Z"}`+"\n", old)
	for policy, want := range map[string][]string{"": {aged, young}, "pack_ttl=30d\n": {aged, young}, "pack_ttl=5d\n": {young}, "pack_ttl=1h\n": nil, "junk": {aged, young}} {
		f.file(f.x.Rel()+"/context/gc.policy", policy, old)
		live, err := alive(f.store, owner, now)
		must(t, err)
		for _, id := range []string{young, aged} {
			if live.blobs[id] != slices.Contains(want, id) {
				t.Errorf("%q: %s alive: %v", policy, id, live.blobs[id])
			}
		}
	}
}

// big is a text that fills more than a frame of the cold store, and does not shrink.
func big(seed byte) string {
	data := make([]byte, chunkstore.FrameSize+chunkstore.FrameSize/8)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(data) // never fails
	return string(data)
}

// TestBlobs: a blob that nothing names goes, once it is old and its frame is full.
func TestBlobs(t *testing.T) {
	f := newFixture(t)
	lost, young, named := big(1), big(2), big(3)
	f.blob(lost, old)
	f.blob(young, 59*time.Minute)
	f.file(f.x.Rel()+"/messages.jsonl", `{"ref":"`+f.blob(named, old).String()+"\"}\n", old)
	f.blob("fills the last frame", 0)
	r := f.run(t)
	if left := f.left(); slices.Contains(left, lost) || !slices.Contains(left, young) || !slices.Contains(left, named) {
		t.Errorf("%d blobs are left", len(left))
	}
	if r.Freed < int64(len(lost))*9/10 {
		t.Errorf("%+v for a blob of %d bytes", r, len(lost))
	}
	if r := f.run(t); r.Done != 0 || r.Freed != 0 {
		t.Errorf("a second run: %+v", r)
	}
}

func (f *fixture) run(t *testing.T) Result {
	t.Helper()
	plan, err := Make(f.store, Options{Now: f.now})
	must(t, err)
	r, err := Run(f.store, plan, f)
	must(t, err)
	return r
}

// fixture is a Keeper.
func (f *fixture) Archive(rel string) error {
	_, err := f.x.Archive()
	return err
}

func (f *fixture) Delete(rel string) error { return f.x.Container().Delete(path.Base(rel)) }

// TestStraddle moves an id over the edge of the read buffer, byte by byte.
func TestStraddle(t *testing.T) {
	id := cas.Sum([]byte("x")).String()
	filler := strings.Repeat("y", 2*readSize-100) + strings.Repeat("blake3-", 20)
	for back := -2; back <= len(id)+2; back++ {
		for _, edge := range []int{readSize, 2*readSize - len(id)} {
			text := filler[len(filler)-edge+back:] + id + "blake3-"
			for name, r := range map[string]io.Reader{"whole": strings.NewReader(text), "late end": iotest.DataErrReader(strings.NewReader(text))} {
				var got []string
				must(t, scanIDs(r, func(id string) { got = append(got, id) }))
				if !slices.Equal(got, []string{id}) && !slices.Equal(got, []string{id, id}) {
					t.Errorf("%s: the id at %d is %q", name, edge-back, got)
				}
			}
		}
	}
	var got []string
	must(t, scanIDs(iotest.OneByteReader(strings.NewReader(id+id)), func(id string) { got = append(got, id) }))
	if !slices.Contains(got, id) || len(got) < 2 {
		t.Errorf("byte by byte: %d ids", len(got))
	}
}

// TestUnreadable: what could not be read may name any blob: the plan fails rather than take one away.
func TestUnreadable(t *testing.T) {
	disk := errors.New("i/o error")
	r := io.MultiReader(strings.NewReader("some"), iotest.ErrReader(disk))
	if err := scanIDs(r, func(string) {}); !errors.Is(err, disk) {
		t.Errorf("a failing disk: %v", err)
	}
}

// TestOddFiles: what does not belong in a store neither stops nor tempts gc.
func TestOddFiles(t *testing.T) {
	f := newFixture(t)
	f.blob("lost", old)
	f.file("home/README", "x", old)
	f.file("home/1000/.ctxfs/chunk/README", "x", old)
	f.file("home/1000/.ctxfs/stray", "x", old)
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, beneath.TempPrefix+"x"), nil, 0o600))
	must(t, os.Chtimes(filepath.Join(outside, beneath.TempPrefix+"x"), f.now.Add(-old), f.now.Add(-old)))
	for _, rel := range []string{"home/3000", f.x.Rel() + "/context/pinned-link", "home/1000/.ctxfs/yy"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(f.store.Path(), rel)), 0o755))
		must(t, os.Symlink(outside, filepath.Join(f.store.Path(), rel)))
	}
	f.want()
}

// TestRun: making a plan changes nothing; running it removes what it names, and never a log's byte.
func TestRun(t *testing.T) {
	f := newFixture(t)
	log, err := f.x.Log(session.Messages)
	must(t, err)
	defer f.x.Release()
	must(t, log.Commit([]byte("{\"role\":\"user\",\"content\":\"x\"}\n")))
	f.age(f.x.Rel()+"/messages.jsonl", 1000*time.Hour)
	f.age(f.x.Rel()+"/events.jsonl", 1000*time.Hour)
	f.file("home/1000/"+beneath.TempPrefix+"1", "12345", old)
	before := tree(t, f.store.Path())
	plan, err := Make(f.store, Options{Now: f.now})
	must(t, err)
	if after := tree(t, f.store.Path()); !slices.Equal(before, after) {
		t.Fatalf("making a plan changed the store:\n%s", strings.Join(after, "\n"))
	}
	r, err := Run(f.store, plan, f)
	if err != nil || r.Freed != plan.Bytes || r.Freed != 5 || r.Done != 1 {
		t.Errorf("%+v, %v, the plan says %d", r, err, plan.Bytes)
	}
	want := slices.DeleteFunc(before, func(line string) bool {
		return strings.HasPrefix(line, "home/1000/"+beneath.TempPrefix+"1 ")
	})
	if after := tree(t, f.store.Path()); !slices.Equal(after, want) {
		t.Errorf("after the run:\n%s\nwant:\n%s", strings.Join(after, "\n"), strings.Join(want, "\n"))
	}
	if r, err := Run(f.store, plan, f); err != nil || r.Freed != 0 {
		t.Errorf("a second run: %+v, %v", r, err)
	}
}

// TestRunSpares: a temporary file that was touched after the plan was made stays: its writer goes on.
func TestRunSpares(t *testing.T) {
	f := newFixture(t)
	const rel = "home/1000/" + beneath.TempPrefix + "1"
	f.file(rel, "half", old)
	plan, err := Make(f.store, Options{Now: f.now})
	must(t, err)
	f.file(rel, "whole", 0)
	if r, err := Run(f.store, plan, f); err != nil || r.Freed != 0 || len(plan.Actions) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if data, err := os.ReadFile(filepath.Join(f.store.Path(), rel)); err != nil || string(data) != "whole" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestPolicy: what the session's gc.policy says, and what the operator says where it is silent.
func TestPolicy(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		policy string
		after  time.Duration // of the operator
		rest   time.Duration
		do     string
		reason string
	}{
		{"", 0, 1000 * day, "", ""},
		{"", 90 * day, 91 * day, Archive, "idle for 91d, --archive-after=90d"},
		{"", 90 * day, 89 * day, "", ""},
		{"archive_after=10d", 0, 11 * day, Archive, "idle for 11d, archive_after=10d"},
		{"archive_after=10d", day, 9 * day, "", ""},
		{"archive_after=90m", 0, 2 * time.Hour, Archive, "idle for 2h, archive_after=1h"},
		{"delete_after=30d\nkeep_messages=0\nkeep_events=0\narchive_after=1d", 0, 31 * day, Delete, "idle for 31d, delete_after=30d"},
		{"delete_after=30d\nkeep_messages=0\nkeep_events=0\narchive_after=1d", 0, 29 * day, Archive, "idle for 29d, archive_after=1d"},
		{"keep_messages=0\nkeep_events=0", 0, 1000 * day, "", ""},
	} {
		f := newFixture(t)
		f.file(f.x.Rel()+"/messages.jsonl", "{\"role\":\"user\"}\n", c.rest)
		must(t, f.x.WriteControl("context/gc.policy", []byte(c.policy), session.Caller{UID: 1000, GID: 1000}))
		for _, name := range []string{"context", "events.jsonl", "meta.json", "."} {
			f.age(f.x.Rel()+"/"+name, c.rest)
		}
		plan, err := Make(f.store, Options{Now: f.now, ArchiveAfter: c.after})
		must(t, err)
		var do, reason string
		if len(plan.Actions) > 0 {
			do, reason = plan.Actions[0].Do, plan.Actions[0].Reason
		}
		if do != c.do || reason != c.reason {
			t.Errorf("%q at rest for %v: %q (%s), want %q (%s)", c.policy, c.rest, do, reason, c.do, c.reason)
		}
		if c.do == "" {
			continue
		}
		r, err := Run(f.store, plan, f)
		must(t, err)
		_, err = os.Stat(filepath.Join(f.store.Path(), f.x.Rel()))
		if r.Done != 1 || c.do == Archive && (r.Archived != 16 || !f.x.IsArchived(session.Messages)) || c.do == Delete && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %+v, %v", c.do, r, err)
		}
	}
}

// TestBusy: a session that is open is left as it is, and counted.
func TestBusy(t *testing.T) {
	f := newFixture(t)
	f.file(f.x.Rel()+"/messages.jsonl", "{}\n", 48*time.Hour)
	for _, name := range []string{"events.jsonl", "meta.json", "."} {
		f.age(f.x.Rel()+"/"+name, 48*time.Hour)
	}
	_, err := f.x.Log(session.Messages)
	must(t, err)
	plan, err := Make(f.store, Options{Now: f.now, ArchiveAfter: time.Hour})
	must(t, err)
	r, err := Run(f.store, plan, f)
	if err != nil || r.Busy != 1 || r.Done != 0 || f.x.IsArchived(session.Messages) {
		t.Errorf("%+v, %v", r, err)
	}
	f.x.Release()
}

// TestLock: two do not run at once.
func TestLock(t *testing.T) {
	f := newFixture(t)
	release, err := Lock(f.store)
	must(t, err)
	var rule *session.Error
	if _, err := Lock(f.store); !errors.As(err, &rule) || rule.Kind != session.Locked {
		t.Errorf("a second lock: %v", err)
	}
	must(t, release())
	release, err = Lock(f.store)
	must(t, err)
	must(t, release())
}

// TestTrash: what a delete that crashed left goes whole.
func TestTrash(t *testing.T) {
	f := newFixture(t)
	const trash = "home/1000/.ctxfs/trash/coder.gone.1"
	f.file(trash+"/messages.jsonl", "{}\n", 0)
	f.file(trash+"/context/pinned/"+beneath.TempPrefix+"1", "123", old)
	must(t, os.Symlink(f.store.Path(), filepath.Join(f.store.Path(), trash, "link")))
	plan, err := Make(f.store, Options{Now: f.now})
	must(t, err)
	if len(plan.Actions) != 1 || plan.Actions[0].Path != trash {
		t.Fatalf("%+v", plan.Actions)
	}
	r, err := Run(f.store, plan, f)
	if err != nil || r.Freed != plan.Bytes {
		t.Errorf("%+v, %v, the plan says %d", r, err, plan.Bytes)
	}
	if _, err := os.Lstat(filepath.Join(f.store.Path(), trash)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", trash, err)
	}
	if _, err := os.Stat(filepath.Join(f.store.Path(), f.x.Rel(), "messages.jsonl")); err != nil {
		t.Errorf("the session that is not deleted: %v", err)
	}
	f.want()
}

// TestRunGoesOn: a step that fails is told of, and the others are done.
func TestRunGoesOn(t *testing.T) {
	f := newFixture(t)
	f.file("home/1000/"+beneath.TempPrefix+"1", "12345", old)
	plan, err := Make(f.store, Options{Now: f.now})
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(f.store.Path(), "home/1000/dir/full"), 0o755))
	f.age("home/1000/dir", old)
	plan.Actions = append([]Action{{Do: Remove, Path: "home/1000/dir", Bytes: 9}, {Do: Remove, Path: "home/../../x", Bytes: 9}}, plan.Actions...)
	r, err := Run(f.store, plan, f)
	if err == nil || r.Freed != 5 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(filepath.Join(f.store.Path(), "home/1000/dir/full")); err != nil {
		t.Errorf("a folder that could not be removed: %v", err)
	}
}

// tree lists every file with its content.
func tree(t *testing.T, top string) []string {
	t.Helper()
	var out []string
	must(t, filepath.Walk(top, func(name string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(top, name)
		out = append(out, rel+" "+info.Mode().String()+" "+string(data))
		return err
	}))
	return out
}
