//go:build linux && amd64

package fault

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ctxfs/internal/archive"
	"ctxfs/internal/session"
	"ctxfs/internal/verify"
)

// film is a day's work as the disk saw it.
type film struct {
	template string
	point    string // of the mount that there was
	ops      []op
	ledger   *ledger
	from     int // operations before which the power is not cut
}

// shoot records the work.
func shoot(t *testing.T) *film {
	t.Helper()
	f := &film{template: filepath.Join(t.TempDir(), "store")}
	f.ledger = newLedger(makeTemplate(t, f.template))
	w := newWorld(t, t.TempDir(), f.template, Job{Record: true, Calls: recorded()})
	defer w.close()
	f.point, f.ledger.clock = w.point, func() int { return ask[int](w.tracer, "Done") }
	w.bulk = 1500 // several writes to a journal before its sync, and more than a frame
	err := w.work(f.ledger)
	err = errors.Join(err, w.umount())
	made := ask[Filmed](w.tracer, "Film")
	if err != nil || len(f.ledger.errs) > 0 || len(made.Odd) > 0 {
		t.Fatalf("the work: %v, errors %q, not understood %q\n%s", err, f.ledger.errs, made.Odd, w.printed())
	}
	f.ops = made.Ops
	return f
}

// cut is a moment at which the power goes, and what it leaves.
type cut struct {
	at      int // operations that were done
	loss    loss
	journal bool
	seed    uint64
}

func (c cut) String() string {
	order := "names in any order"
	if c.journal {
		order = "names in order"
	}
	return fmt.Sprintf("after %d operations, %v, %s, seed %d", c.at, c.loss, order, c.seed)
}

// lay makes the store that a cut leaves. It goes through the film from the start.
func (f *film) lay(c cut, top string) error {
	d, err := readDisk(f.template)
	if err != nil {
		return err
	}
	d.journal = c.journal
	for i, o := range f.ops[:c.at] {
		if err := d.do(i, o); err != nil {
			return err
		}
	}
	if err := d.crash(top, c.loss, rand.New(rand.NewPCG(c.seed, uint64(c.at)))); err != nil {
		return err
	}
	old := time.Now().AddDate(0, -1, 0) // the machine was started since
	return filepath.Walk(top, func(p string, _ os.FileInfo, err error) error { return errors.Join(err, os.Chtimes(p, old, old)) })
}

// check opens a store after a cut, as the next daemon does, and holds it to the promise.
func (f *film) check(top string, c cut) (wrong []string) {
	tell := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for _, p := range problems(top, tell) {
		if !p.Repairable {
			tell("verify, before anything opened it: %s: %s", p.Path, p.Text)
		}
	}
	tails := tornTails(top)
	s, err := session.Open(top, session.Options{})
	if err != nil {
		return append(wrong, err.Error())
	}
	f.useAll(s, c, tell)
	f.files(top, c, tell)
	if err := verify.Repair(s); err != nil {
		tell("repair: %v", err)
	}
	if err := s.Close(); err != nil {
		tell("close: %v", err)
	}
	var events map[string]string
	if len(tails) > 0 {
		if events, err = allLogs(top, session.Events); err != nil {
			tell("events: %v", err)
		}
	}
	for _, t := range tails {
		if !kept(top, t.bytes) {
			tell("a torn tail of %s is not in quarantine: %.80q", t.session, t.bytes)
		}
		if !strings.Contains(events[t.session], "ctxfs.line.quarantined") {
			tell("no event of %s tells of a torn tail", t.session)
		}
	}
	for _, p := range problems(top, tell) {
		tell("verify, after it was used: %s: %s", p.Path, p.Text)
	}
	return wrong
}

// collected has gc go over a store that check was at, and looks whether anything that counts went with it.
func collected(top string) (wrong []string) {
	before, err := allLogs(top, session.Messages)
	if err == nil {
		_, err = plainly("gc", "--store", top)
	}
	var after map[string]string
	if err == nil {
		after, err = allLogs(top, session.Messages)
	}
	if err != nil {
		return []string{fmt.Sprintf("gc: %v", err)}
	}
	for name, log := range before {
		if name != "doomed" && after[name] != log {
			wrong = append(wrong, fmt.Sprintf("gc: %s has %d bytes, had %d", name, len(after[name]), len(log)))
		}
	}
	if out, err := plainly("verify", "--store", top); err != nil {
		wrong = append(wrong, "verify, after gc: "+out)
	}
	return wrong
}

// mounted has a daemon of its own serve the store.
func mounted(t *testing.T, dir, top string) (wrong []string) {
	before, err := allLogs(top, session.Messages)
	if err != nil {
		return []string{err.Error()}
	}
	w := newWorld(t, dir, top, Job{})
	defer w.close()
	if err := w.mount(); err != nil {
		return []string{err.Error(), w.printed()}
	}
	for name, log := range before {
		file := w.session(name) + "/messages.jsonl"
		if err := writeTo(file, message("mount", 0, ""), os.O_WRONLY|os.O_APPEND); err != nil {
			wrong = append(wrong, err.Error())
		}
		if data, err := os.ReadFile(file); err != nil || string(data) != log+message("mount", 0, "") {
			wrong = append(wrong, fmt.Sprintf("the mount shows %d bytes of %s, the store %d: %v", len(data), name, len(log), err))
		}
		if _, err := os.ReadFile(w.session(name) + "/context/pack.md"); err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	if err := w.umount(); err != nil {
		wrong = append(wrong, err.Error())
	}
	return wrong
}

// allLogs reads the logs of that name of all sessions.
func allLogs(top, log string) (map[string]string, error) {
	s, err := session.Open(top, session.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	c, err := s.Container("home/0/agent/coder")
	if err != nil {
		return nil, err
	}
	names, err := c.Names()
	logs := map[string]string{}
	for _, name := range names {
		data, lerr := logOf(c, name, log)
		logs[name], err = data, errors.Join(err, lerr)
	}
	return logs, err
}

func problems(top string, tell func(string, ...any)) []verify.Problem {
	s, err := session.Open(top, session.Options{ReadOnly: true})
	if err != nil {
		tell("open to look: %v", err)
		return nil
	}
	defer s.Close()
	r, err := verify.Store(s)
	if err != nil {
		tell("verify: %v", err)
	}
	return r.Problems
}

// useAll reads each session, appends to it, and reads it again.
func (f *film) useAll(s *session.Store, c cut, tell func(string, ...any)) {
	con, err := s.Container("home/0/agent/coder")
	if err != nil {
		tell("%v", err)
		return
	}
	names, err := con.Names()
	if err != nil {
		tell("%v", err)
		return
	}
	for name := range f.ledger.base {
		if !slices.Contains(names, name) && !f.ledger.gone[name] && !f.renamed(name, names) {
			tell("session %s is gone", name)
		}
	}
	for _, name := range names {
		x, err := con.Session(name)
		if err != nil {
			tell("%s: %v", name, err)
			continue
		}
		line := message("after", 0, name)
		if err := x.Append(session.Messages, []byte(line)); err != nil {
			tell("append to %s: %v", name, err)
			continue
		}
		data, err := logOf(con, name, session.Messages)
		if err != nil || !strings.HasSuffix(data, line) {
			tell("read of %s: %d bytes, %v", name, len(data), err)
			continue
		}
		ledger := strings.TrimSuffix(name, "2") // a rename may be under way
		if name == "imported" || name == "extra" || f.ledger.gone[name] {
			continue
		}
		for _, what := range f.ledger.check(ledger, strings.TrimSuffix(data, line), promise{crash: c.at, refused: true}) {
			tell("%s", what)
		}
	}
}

// renamed tells whether a session stands under its other name.
func (f *film) renamed(name string, names []string) bool { return slices.Contains(names, name+"2") }

// files holds control files to what was in them: a replacement that had returned, or one that had begun.
func (f *film) files(top string, c cut, tell func(string, ...any)) {
	for file, list := range f.ledger.puts {
		if filepath.Base(file) == "a.md" {
			continue // nobody synced it
		}
		var may []string
		must := false
		for _, p := range list {
			if p.done > 0 && p.done <= c.at {
				may = nil          // what was before is gone
				must = p.begun > 0 // else it may be the default, and in no file
			}
			if p.begun <= c.at {
				may = append(may, p.content)
			}
		}
		data, err := os.ReadFile(filepath.Join(top, strings.TrimPrefix(file, f.point)))
		if errors.Is(err, os.ErrNotExist) && !must {
			continue
		}
		if err != nil || !slices.Contains(may, string(data)) {
			tell("%s holds %q, %v, want one of %q", file, data, err, may)
		}
	}
}

// tail is what stands at the end of a log and is no whole lines.
type tail struct {
	session string
	bytes   []byte
}

// tornTails gives those of all logs.
func tornTails(top string) (tails []tail) {
	for _, name := range []string{"messages.jsonl", "events.jsonl", ".archive/*.jsonl.*"} {
		logs, _ := filepath.Glob(filepath.Join(top, stored, "*", name)) // the pattern is good
		for _, log := range logs {
			data, err := os.ReadFile(log)
			if err != nil || !counts(log) {
				continue
			}
			from := bytes.LastIndexByte(data, '\n') + 1
			if i := bytes.IndexByte(data, 0); i >= 0 { // a write that did not reach the disk
				from = bytes.LastIndexByte(data[:i], '\n') + 1
			}
			if torn := data[from:]; len(torn) > 0 && !bytes.HasSuffix(torn, []byte("}")) {
				rel, _ := filepath.Rel(filepath.Join(top, stored), log) // it is below
				tails = append(tails, tail{strings.Split(rel, "/")[0], torn})
			}
		}
	}
	return tails
}

// counts tells whether a file is a part of a log: one behind archived bytes is when their index says so, and no plain file
// is there.
func counts(log string) bool {
	dir, name := filepath.Split(log)
	if filepath.Base(dir) != session.ColdDir {
		return true
	}
	name, size, _ := strings.Cut(name, ".jsonl.")
	if _, err := os.Stat(filepath.Join(dir, "..", name+".jsonl")); err == nil {
		return false
	}
	f, err := os.Open(filepath.Join(dir, name+".jsonl"))
	if err != nil {
		return false
	}
	defer f.Close()
	n, err := archive.SizeOf(f)
	return err == nil && fmt.Sprint(n) == size
}

// kept tells whether the quarantine has these bytes.
func kept(top string, tail []byte) bool {
	list, _ := filepath.Glob(filepath.Join(top, "home/0/.ctxfs/quarantine/*"))
	for _, q := range list {
		if data, err := os.ReadFile(q); err == nil && bytes.Contains(data, tail) {
			return true
		}
	}
	return false
}

// cuts chooses moments. Each is tried with each loss, and with both orders of names.
func (f *film) cuts(every int, seeds uint64) (all []cut) {
	for at := 1; at <= len(f.ops); at++ {
		// After a sync, and before what comes after it, is where promises begin.
		if at < f.from {
			continue
		}
		if at%every != 0 && !(f.ops[at-1].Kind == opSync && at%max(1, every/4) == 0) {
			continue
		}
		for l := range losses {
			for seed := range seeds {
				all = append(all, cut{at, l, seed%2 == 0, seed})
				if l == loseAll || l == loseNone || l == loseData {
					all = append(all, cut{at, l, seed%2 != 0, seed})
					break // nothing in it is by chance
				}
			}
		}
	}
	return all
}

// TestPowerLoss cuts the power at moments of a recorded work. CTXFS_POWER=N tries every Nth operation, with more seeds.
func TestPowerLoss(t *testing.T) {
	need(t)
	f := shoot(t)
	every, seeds := 1+len(f.ops)/4, uint64(2)
	if n, err := strconv.Atoi(os.Getenv("CTXFS_POWER")); err == nil {
		every, seeds = n, 6
	}
	f.from, _ = strconv.Atoi(os.Getenv("CTXFS_POWER_FROM")) // none: 0
	all := f.cuts(every, seeds)
	syncs := 0
	for _, o := range f.ops {
		if o.Kind == opSync {
			syncs++
		}
	}
	t.Logf("%d operations, %d of them syncs; %d states", len(f.ops), syncs, len(all))
	bad := 0
	tell := func(c cut, wrong []string) {
		if len(wrong) == 0 {
			return
		}
		if bad++; bad <= 40 {
			t.Errorf("%v: %d things are wrong:\n\t%.2000s", c, len(wrong), strings.Join(wrong[:min(5, len(wrong))], "\n\t"))
		}
	}
	for i, c := range all {
		dir := t.TempDir()
		top := filepath.Join(dir, "cut")
		if err := f.lay(c, top); err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		wrong := f.check(top, c)
		if i%8 == 0 {
			wrong = append(wrong, collected(top)...)
		}
		if i%32 == 0 {
			wrong = append(wrong, mounted(t, dir, top)...)
		}
		tell(c, wrong)
		os.RemoveAll(dir)
	}
	t.Logf("%d states of %d are wrong", bad, len(all))
}
