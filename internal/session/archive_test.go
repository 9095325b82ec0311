package session

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// logText reads a log as the mount does.
func logText(t testing.TB, x *Session, name string) string {
	t.Helper()
	l, err := x.Log(name)
	must(t, err)
	defer x.Release()
	data, err := io.ReadAll(io.NewSectionReader(l, 0, l.Size()))
	must(t, err)
	return string(data)
}

func archiveNow(t testing.TB, x *Session) Archived {
	t.Helper()
	got, err := x.Archive()
	must(t, err)
	return got
}

func manyLines(n int) (lines []string) {
	for i := range n {
		lines = append(lines, asks(fmt.Sprintf("message %d says %s", i, strings.Repeat("nearly the same. ", i%40))))
	}
	return lines
}

func inCold(t testing.TB, x *Session) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(hostPath(x, ColdDir))
	must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestArchive goes round: archive, read, append, archive again, restart, plain again. The bytes never change.
func TestArchive(t *testing.T) {
	x := newSession(t)
	lines := manyLines(300)
	add(t, x, Messages, lines...)
	want := strings.Join(lines, "\n") + "\n"
	when := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	at(t, x, when)
	pack := look(t, x, "context/pack.md")

	if got := archiveNow(t, x); got.Bytes != int64(len(want)) {
		t.Errorf("%d bytes were archived, want %d", got.Bytes, len(want))
	}
	if _, err := os.Stat(hostPath(x, Messages)); !os.IsNotExist(err) || !x.IsArchived(Messages) || x.IsArchived(Events) {
		t.Errorf("the plain file is still there, or the empty log is archived: %v", err)
	}
	check := func(step string) {
		t.Helper()
		if got := logText(t, x, Messages); got != want {
			t.Fatalf("%s: %d bytes, want %d", step, len(got), len(want))
		}
		if n, _, err := x.LogStat(Messages); err != nil || n != int64(len(want)) {
			t.Fatalf("%s: LogStat %d, %v", step, n, err)
		}
	}
	check("archived")
	if got, err := x.Updated(); err != nil || !got.Equal(when) {
		t.Errorf("updated_at moved to %v, %v", got, err)
	}
	if got := look(t, x, "context/pack.md"); got != pack {
		t.Error("the pack is another")
	}
	if again := archiveNow(t, x); again.Bytes != 0 {
		t.Errorf("%d bytes were archived twice", again.Bytes)
	}

	more := asks("and on it goes")
	add(t, x, Messages, more)
	want += more + "\n"
	check("appended")
	if names := inCold(t, x); !slices.Equal(names, []string{Messages, fmt.Sprintf("%s.%d", Messages, len(want)-len(more)-1)}) {
		t.Errorf("in the folder: %v", names)
	}
	if got := archiveNow(t, x); got.Bytes != int64(len(more)+1) {
		t.Errorf("%d bytes were archived, want %d", got.Bytes, len(more)+1)
	}
	check("archived again")

	path, name := x.Store().Path(), x.Name()
	must(t, x.Store().Close())
	x, err := container(t, openStore(t, path, Options{}), coder).Session(name)
	must(t, err)
	check("in another process")
	add(t, x, Messages, more)
	want += more + "\n"
	before, err := x.Updated()
	must(t, err)
	must(t, x.Unarchive())
	check("plain again")
	if after, err := x.Updated(); err != nil || !after.Equal(before) {
		t.Errorf("updated_at moved from %v to %v, %v", before, after, err)
	}
	plain, err := os.ReadFile(hostPath(x, Messages))
	if err != nil || string(plain) != want || len(inCold(t, x)) != 0 {
		t.Errorf("the plain file has %d bytes, %v; %v is left", len(plain), err, inCold(t, x))
	}
}

// TestArchiveOfAnOpenSession is refused, and changes nothing.
func TestArchiveOfAnOpenSession(t *testing.T) {
	x := newSession(t)
	add(t, x, Messages, manyLines(3)...)
	_, err := x.Log(Messages)
	must(t, err)
	if _, err := x.Archive(); kind(err) != Busy {
		t.Errorf("Archive: %v", err)
	}
	if x.IsArchived(Messages) {
		t.Error("it is archived")
	}
	x.Release()
	archiveNow(t, x)
	_, err = x.Log(Messages)
	must(t, err)
	if err := x.Unarchive(); kind(err) != Busy {
		t.Errorf("Unarchive: %v", err)
	}
	x.Release()
	if left := temps(t, x); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func temps(t testing.TB, x *Session) []string {
	t.Helper()
	list, err := filepath.Glob(hostPath(x, ".ctxfs-tmp-*"))
	must(t, err)
	return list
}

// TestArchiveCrashes looks at what a crash between two steps leaves.
func TestArchiveCrashes(t *testing.T) {
	x := newSession(t)
	lines := manyLines(20)
	add(t, x, Messages, lines...)
	want := strings.Join(lines, "\n") + "\n"
	plain := hostPath(x, Messages)
	keep, err := os.ReadFile(plain)
	must(t, err)
	archiveNow(t, x)
	reopen := func() {
		t.Helper()
		path, name := x.Store().Path(), x.Name()
		must(t, x.Store().Close())
		x, err = container(t, openStore(t, path, Options{}), coder).Session(name)
		must(t, err)
	}

	// The index is there, and the plain file was not removed yet; then it took another line.
	putFile(t, plain, keep)
	reopen()
	add(t, x, Messages, asks("more"))
	want += asks("more") + "\n"
	if got := logText(t, x, Messages); got != want {
		t.Errorf("with both: %d bytes, want %d", len(got), len(want))
	}
	archiveNow(t, x)
	if got := logText(t, x, Messages); got != want {
		t.Errorf("archived over an older index: %d bytes, want %d", len(got), len(want))
	}

	// The index counts the tail already, and the tail was not removed yet.
	stale := hostPath(x, fmt.Sprintf("%s/%s.%d", ColdDir, Messages, len(want)-10))
	putFile(t, stale, []byte("{}\n"))
	reopen()
	if got := logText(t, x, Messages); got != want {
		t.Errorf("with an old tail: %d bytes, want %d", len(got), len(want))
	}

	// The end of the tail is torn: it is set aside, as with a plain file.
	add(t, x, Messages, says("x"))
	want += says("x") + "\n"
	tail := hostPath(x, fmt.Sprintf("%s/%s.%d", ColdDir, Messages, len(want)-len(says("x"))-1))
	f, err := os.OpenFile(tail, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(`{"torn":`)
	must(t, err)
	must(t, f.Close())
	reopen()
	if got := logText(t, x, Messages); got != want {
		t.Errorf("with a torn end: %d bytes, want %d", len(got), len(want))
	}
}

// TestArchiveDamage: what is damaged is an error and an event, never other bytes.
func TestArchiveDamage(t *testing.T) {
	for _, what := range []string{"chunk", "index"} {
		t.Run(what, func(t *testing.T) {
			x := newSession(t)
			add(t, x, Messages, manyLines(200)...)
			add(t, x, Events, `{"type":"x"}`)
			archiveNow(t, x)
			must(t, x.Store().Close())
			pattern := filepath.Join(x.Store().Path(), "home/1000/.ctxfs/chunk/*-*")
			if what == "index" {
				pattern = hostPath(x, ColdDir+"/"+Messages)
			}
			flip(t, pattern)
			y, err := container(t, openStore(t, x.Store().Path(), Options{}), coder).Session("s")
			must(t, err)
			l, err := y.Log(Messages)
			if err == nil {
				_, err = io.ReadAll(io.NewSectionReader(l, 0, l.Size()))
				y.Release()
			}
			if err == nil {
				t.Fatal("damaged bytes were read")
			}
		})
	}
}

// flip turns a bit in the middle of the largest file of a pattern.
func flip(t testing.TB, pattern string) {
	t.Helper()
	list, err := filepath.Glob(pattern)
	must(t, err)
	var name string
	var data []byte
	for _, n := range list {
		b, err := os.ReadFile(n)
		must(t, err)
		if len(b) > len(data) {
			name, data = n, b
		}
	}
	data[len(data)/2] ^= 4
	must(t, os.Chmod(name, 0o600))
	putFile(t, name, data)
}

// TestArchivedForReaders: who only looks sees an archived log, and what was appended since.
func TestArchivedForReaders(t *testing.T) {
	x := newSession(t)
	lines := manyLines(50)
	add(t, x, Messages, lines...)
	archiveNow(t, x)
	ro := openStore(t, x.Store().Path(), Options{ReadOnly: true})
	read := func() string {
		y, err := container(t, ro, coder).Session("s")
		must(t, err)
		return logText(t, y, Messages)
	}
	want := strings.Join(lines, "\n") + "\n"
	if got := read(); got != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
	var st unix.Stat_t
	must(t, unix.Stat(hostPath(x, ColdDir+"/"+Messages), &st))
	if os.Geteuid() == 0 && st.Uid != 1000 || st.Mode&0o077 != 0 {
		t.Errorf("the index belongs to %d, mode %o", st.Uid, st.Mode)
	}
}

// TestArchiveLookFails fails one open after the other on the way to an archived log: when nobody knows whether it is archived,
// nothing of it goes.
func TestArchiveLookFails(t *testing.T) {
	x := newSession(t)
	add(t, x, Messages, manyLines(50)...)
	want := logText(t, x, Messages)
	archiveNow(t, x)
	for n := range 40 {
		x.shut()
		opens := 0
		x.store.dir.SetGuard(func(string, *unix.Stat_t) error {
			if opens++; opens == n+1 {
				return unix.EMFILE
			}
			return nil
		})
		if _, err := x.Log(Messages); err == nil {
			x.Release()
		} else if opens <= n {
			t.Fatal(err)
		}
		x.store.dir.SetGuard(nil)
		if got := logText(t, x, Messages); got != want {
			t.Fatalf("open %d failed: the log has %d bytes, want %d", n, len(got), len(want))
		}
		if opens <= n && n == 0 {
			t.Error("nothing was opened")
		}
	}
}
