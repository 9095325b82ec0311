package gc

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
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
	"ctxfs/internal/session"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fixture is a store with one session, and the clock of the test.
type fixture struct {
	t     *testing.T
	store *session.Store
	x     *session.Session
	blobs *cas.Dir
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
	return &fixture{t: t, store: store, x: x, blobs: cas.NewDir(store.Dir(), "home/1000/.ctxfs/blob", beneath.Owner{}), now: time.Now()}
}

// blob puts data as it stands after age.
func (f *fixture) blob(data string, age time.Duration) cas.ID {
	f.t.Helper()
	id, err := f.blobs.Put([]byte(data))
	must(f.t, err)
	f.age(f.blobPath(id), age)
	return id
}

func (f *fixture) blobPath(id cas.ID) string {
	return path.Join("home/1000/.ctxfs/blob", id.String()[7:9], id.String())
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
	f.age(rel, age)
}

func (f *fixture) plan() []string {
	f.t.Helper()
	plan, err := Make(f.store, f.now)
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
	plan, err := Make(empty, f.now)
	if err != nil || plan.Actions == nil || len(plan.Actions) != 0 {
		t.Errorf("an empty store: %+v, %v", plan, err)
	}
}

// TestTemps: temporary files that a crash left are found wherever ctxfs writes, once they are old.
func TestTemps(t *testing.T) {
	f := newFixture(t)
	var stale []string
	for _, dir := range []string{f.x.Rel(), f.x.Rel() + "/context", f.x.Rel() + "/context/pinned", "home/1000", "home/1000/.ctxfs/quarantine",
		"home/1000/.ctxfs/blob/ab", "shared/team/agent/coder/session/s"} {
		f.file(dir+"/"+beneath.TempPrefix+"old", "half", old)
		f.file(dir+"/"+beneath.TempPrefix+"new", "half", time.Minute)
		f.file(dir+"/notes", "kept", old)
		stale = append(stale, dir+"/"+beneath.TempPrefix+"old")
	}
	f.file("home/1000/agent/coder/root/"+beneath.TempPrefix+"old", "the agent's own", old)
	f.want(stale...)
}

// TestBlobs: a blob that nothing names goes, once it is old; one that any file of the same owner names stays.
func TestBlobs(t *testing.T) {
	f := newFixture(t)
	name := func(rel, data string) { f.file(rel, data, old) }
	lost, young := f.blob("lost", old), f.blob("young", 59*time.Minute)
	_ = young
	name(f.x.Rel()+"/messages.jsonl", `{"ref":"`+f.blob("in messages", old).String()+`"}`+"\n")
	name(f.x.Rel()+"/events.jsonl", "{}\n"+f.blob("in events", old).String())
	name(f.x.Rel()+"/context/pinned/a.ref", f.blob("pinned", old).String()+"\n"+f.blob("pinned 2", old).String())
	name(f.x.Rel()+"/context/child/c/artifact/deep/f", "x"+f.blob("artifact", old).String()+"0")
	name("home/1000/agent/coder/session/index-like", "blake3-blake3-"+f.blob("after a false start", old).String())
	foreign := f.blob("named by another owner only", old)
	name("home/2000/agent/coder/session/s/messages.jsonl", foreign.String())
	inRoot := f.blob("named in the agent's root only", old)
	name("home/1000/agent/coder/root/file", inRoot.String())
	f.want(f.blobPath(lost), f.blobPath(foreign), f.blobPath(inRoot))
}

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
	lost := f.blob("lost", old)
	f.file("home/README", "x", old)
	f.file("home/1000/.ctxfs/blob/README", "x", old)
	f.file("home/1000/.ctxfs/blob/zz/stray", "x", old)
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, beneath.TempPrefix+"x"), nil, 0o600))
	must(t, os.Chtimes(filepath.Join(outside, beneath.TempPrefix+"x"), f.now.Add(-old), f.now.Add(-old)))
	for _, rel := range []string{"home/3000", f.x.Rel() + "/context/pinned-link", "home/1000/.ctxfs/blob/yy"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(f.store.Path(), rel)), 0o755))
		must(t, os.Symlink(outside, filepath.Join(f.store.Path(), rel)))
	}
	f.want(f.blobPath(lost))
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
	lost := f.blob("lost", old)
	f.file("home/1000/"+beneath.TempPrefix+"1", "12345", old)
	before := tree(t, f.store.Path())
	plan, err := Make(f.store, f.now)
	must(t, err)
	if after := tree(t, f.store.Path()); !slices.Equal(before, after) {
		t.Fatalf("making a plan changed the store:\n%s", strings.Join(after, "\n"))
	}
	freed, err := Run(f.store, plan)
	if err != nil || freed != plan.Bytes || freed != 4+5 {
		t.Errorf("freed %d, %v, the plan says %d", freed, err, plan.Bytes)
	}
	gone := []string{f.blobPath(lost), "home/1000/" + beneath.TempPrefix + "1"}
	want := slices.DeleteFunc(before, func(line string) bool {
		return slices.ContainsFunc(gone, func(g string) bool { return strings.HasPrefix(line, g+" ") })
	})
	if after := tree(t, f.store.Path()); !slices.Equal(after, want) {
		t.Errorf("after the run:\n%s\nwant:\n%s", strings.Join(after, "\n"), strings.Join(want, "\n"))
	}
	if freed, err := Run(f.store, plan); err != nil || freed != 0 {
		t.Errorf("a second run: %d, %v", freed, err)
	}
}

// TestRunSpares: a blob that was put again after the plan was made stays: a record is about to name it.
func TestRunSpares(t *testing.T) {
	f := newFixture(t)
	id := f.blob("again", old)
	plan, err := Make(f.store, f.now)
	must(t, err)
	if len(plan.Actions) != 1 {
		t.Fatalf("%+v", plan)
	}
	_, err = f.blobs.Put([]byte("again"))
	must(t, err)
	freed, err := Run(f.store, plan)
	if err != nil || freed != 0 {
		t.Errorf("freed %d, %v", freed, err)
	}
	if data, err := f.blobs.Get(id); err != nil || !bytes.Equal(data, []byte("again")) {
		t.Errorf("the blob: %q, %v", data, err)
	}
	f.want()
}

// TestTrash: what a delete that crashed left goes whole, and frees the blobs that only it named.
func TestTrash(t *testing.T) {
	f := newFixture(t)
	const trash = "home/1000/.ctxfs/trash/coder.gone.1"
	lost := f.blob("named by what is gone", old)
	f.file(trash+"/messages.jsonl", lost.String(), 0)
	f.file(trash+"/context/pinned/"+beneath.TempPrefix+"1", "123", old)
	must(t, os.Symlink(f.store.Path(), filepath.Join(f.store.Path(), trash, "link")))
	plan, err := Make(f.store, f.now)
	must(t, err)
	if len(plan.Actions) != 2 || plan.Actions[0].Path != trash || plan.Actions[1].Path != f.blobPath(lost) {
		t.Fatalf("%+v", plan.Actions)
	}
	freed, err := Run(f.store, plan)
	if err != nil || freed != plan.Bytes {
		t.Errorf("freed %d, %v, the plan says %d", freed, err, plan.Bytes)
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
	plan, err := Make(f.store, f.now)
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(f.store.Path(), "home/1000/dir/full"), 0o755))
	f.age("home/1000/dir", old)
	plan.Actions = append([]Action{{Path: "home/1000/dir", Bytes: 9}, {Path: "home/../../x", Bytes: 9}}, plan.Actions...)
	freed, err := Run(f.store, plan)
	if err == nil || freed != 5 {
		t.Errorf("freed %d, %v", freed, err)
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
