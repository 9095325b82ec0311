//go:build linux && amd64

package fault

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// film is a day's work as the disk saw it.
type film struct {
	template string
	point    string // of the mount that there was
	ops      []op
	ledger   *ledger
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
	f.compare(t, w.store)
	return f
}

// compare holds the film to the store that it is of: with all on the disk, it shows what is there.
func (f *film) compare(t *testing.T, store string) {
	t.Helper()
	shown := filepath.Join(t.TempDir(), "shown")
	if err := f.lay(cut{at: len(f.ops), loss: loseNone}, shown); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("diff", "-r", "--no-dereference", store, shown).CombinedOutput(); err != nil {
		t.Fatalf("what was recorded is not what was done: %v\n%.4000s", err, out)
	}
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

// cuts chooses moments, the ends of syncs more often than others: there promises begin. Each is tried with each loss.
func (f *film) cuts(every int, seeds uint64) (all []cut) {
	for at := 1; at <= len(f.ops); at++ {
		if at%every != 0 && !(f.ops[at-1].Kind == opSync && at%max(1, every/4) == 0) {
			continue
		}
		for l := range losses {
			for seed := range l.ways(seeds) {
				all = append(all, cut{at, l, seed%2 == 0, seed})
			}
		}
	}
	return all
}
