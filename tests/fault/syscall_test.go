//go:build linux && amd64

package fault

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// outcome is what became of a run with a fault.
type outcome struct {
	sites map[site]int // that were met, and how often
	hits  int          // of the fault
	errs  []string     // what programs were told
	wrong []string
}

// faulted runs the work with a fault, and checks what is left.
func faulted(t testing.TB, template string, base map[string]string, p *plan) (o outcome) {
	t.Helper()
	defer bounded()()
	dir := t.TempDir()
	defer os.RemoveAll(dir) // there are thousands
	calls := injected()
	if p != nil {
		calls = []string{p.Site.Call} // others need not stop
	}
	w := newWorld(t, dir, template, Job{Plan: p, Calls: calls})
	defer w.close()
	l := newLedger(base)
	err := l.did("mount", w.work(l))
	if err != nil || p != nil && p.Persist { // with no daemon, it is the repair that meets the fault
		_ = l.did("umount", w.umount())
		_ = l.did("repair", w.command("verify", "--store", w.store, "--repair"))
	}
	o.hits, o.sites = ask[int](w.tracer, "Disarm"), ask[map[site]int](w.tracer, "Sites")
	if w.daemon == nil {
		if err := w.mount(); err != nil {
			o.wrong = append(o.wrong, fmt.Sprintf("no mount after the fault: %v", err))
		}
	}
	if w.mounted() {
		o.wrong = append(o.wrong, w.serves(l)...)
	}
	if err := w.umount(); err != nil {
		o.wrong = append(o.wrong, err.Error())
	}
	if o.errs = l.errs; uncaught.MatchString(w.printed()) {
		o.wrong = append([]string{"it hung or crashed: " + w.printed()}, o.wrong...)
		return o
	}
	o.wrong = append(o.wrong, left(w.store, l, promise{least: written})...)
	if p != nil && strings.HasSuffix(p.Site.Call, "sync") && o.hits > 0 && len(o.errs) == 0 && !untold.MatchString(p.Site.Frames) {
		o.wrong = append(o.wrong, "a sync failed, and nobody was told")
	}
	return o
}

// weight is how much an outcome takes of maxBad.
func (o outcome) weight() int32 {
	if strings.Contains(strings.Join(o.wrong, ""), hanging) {
		return maxBad / 3
	}
	return 1
}

// uncaught is what programs print that do not take a fault: the last is a supervisor whose worker died.
var uncaught = regexp.MustCompile(hanging + `|panic: |goroutine \d|fatal error: |DATA RACE|starting another`)

// untold are syncs whose failure harms nobody: a refused line's writer has its error already, and an event says that the
// line could not be kept; what a journal's flush left undone is written to a new file.
var untold = regexp.MustCompile(`session\.\(\*Session\)\.quarantine:|chunkstore\.\(\*Store\)\.syncTail`)

// survey runs the work without a fault and gives the sites that it meets.
func survey(t *testing.T, template string, base map[string]string) []site {
	t.Helper()
	o := faulted(t, template, base, nil)
	if len(o.errs) > 0 || len(o.wrong) > 0 {
		t.Fatalf("without any fault: errors %q, wrong:\n%s", o.errs, strings.Join(o.wrong, "\n"))
	}
	return slices.SortedFunc(maps.Keys(o.sites), func(a, b site) int { return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.Frames, b.Frames)) })
}

// plans gives all faults of the sites.
func plans(sites []site) (all []plan) {
	for _, s := range sites {
		all = append(all, faults(s)...)
	}
	return all
}

// vital are the sites that a short run looks at: how lines get into a log and to the disk, what archives and blobs are
// written by, and how a file is put in place.
var vital = regexp.MustCompile(`^(write|fdatasync|fsync|ftruncate|renameat2|unlinkat) .*(appendlog|chunkstore|WriteFile|sealPart|swapFor|commit|NewFile|flush)`)

// TestEverySyscall fails each system call at each place that makes it, once and from then on. CTXFS_FAULT is a pattern of
// the faults that are tried ("." is all); without it, a sample.
func TestEverySyscall(t *testing.T) {
	need(t)
	template := filepath.Join(t.TempDir(), "store")
	base := makeTemplate(t, template)
	sites := survey(t, template, base)
	all := chosen(t, plans(sites))
	t.Logf("%d call sites, %d faults", len(sites), len(all))
	tab := newTable(sites)
	var group sync.WaitGroup
	var bad atomic.Int32
	next := make(chan plan)
	for range lanes {
		group.Go(func() {
			for p := range next {
				o := faulted(t, template, base, &p)
				tab.add(p, o)
				if len(o.wrong) > 0 {
					bad.Add(o.weight())
					t.Errorf("%v (met %d times)\n\t%.100000s\n    told: %q", p, o.hits, strings.Join(o.wrong[:min(5, len(o.wrong))], "\n\t"), o.errs)
				}
			}
		})
	}
	for i, p := range all {
		if next <- p; bad.Load() >= maxBad {
			t.Errorf("%d of %d faults were tried: more need not be", i+1, len(all))
			break
		}
	}
	close(next)
	group.Wait()
	t.Log("\n" + tab.String())
}

// chosen gives the faults that are tried.
func chosen(t *testing.T, all []plan) []plan {
	if pattern := os.Getenv("CTXFS_FAULT"); pattern != "" {
		re := regexp.MustCompile(pattern)
		return slices.DeleteFunc(all, func(p plan) bool { return !re.MatchString(p.String()) })
	}
	if testing.Short() {
		return sample(t, all, 2)
	}
	return sample(t, all, 18)
}

const (
	lanes  = 3  // runs at the same time: each waits for disks and processes
	maxBad = 30 // faults that are not taken, before the rest is left; a hang, which takes a whole limit, counts ten times
)

// always are faults that lost something once, and those that each guard of an append is there for: they are in every sample.
func always() (all []*regexp.Regexp) {
	for _, p := range []string{
		`^fsync EIO once .*Sync:\d+ < session.*unarchiveLog`,
		`^getdents64 EIO once .*sweepCold.*swapFor`,
		`^openat2 EMFILE on .*Stat:.*archived:.*parts`,
		`^write half once at appendlog.*Writer`,
		`^write half, then ENOSPC once at appendlog.*Writer`,
		`^fdatasync EIO once at appendlog`,
	} {
		all = append(all, regexp.MustCompile(p))
	}
	return all
}

// sample takes n faults of vital sites, always the same, and one of each that always are.
func sample(t *testing.T, all []plan, n int) (some []plan) {
	for _, p := range always() {
		i := slices.IndexFunc(all, func(f plan) bool { return p.MatchString(f.String()) })
		if i < 0 {
			t.Errorf("no fault of this work is %v any more", p)
			continue
		}
		some = append(some, all[i])
		all = slices.Delete(slices.Clone(all), i, i+1)
	}
	rest := slices.DeleteFunc(slices.Clone(all), func(f plan) bool { return !vital.MatchString(f.String()) })
	r := rand.New(rand.NewPCG(8, 1))
	r.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	return append(some, rest[:min(n, len(rest))]...)
}
