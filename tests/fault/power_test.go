//go:build linux && amd64

package fault

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestPowerLoss cuts the power at moments of a recorded work. CTXFS_POWER=N tries every Nth operation, with more seeds.
func TestPowerLoss(t *testing.T) {
	need(t)
	f := shoot(t)
	every, seeds := 1+len(f.ops)/4, uint64(2)
	if testing.Short() {
		every = 1 + len(f.ops)/2
	}
	if n, err := strconv.Atoi(os.Getenv("CTXFS_POWER")); err == nil {
		every, seeds = n, 6
	}
	all := f.cuts(every, seeds)
	syncs := 0
	for _, o := range f.ops {
		if o.Kind == opSync {
			syncs++
		}
	}
	t.Logf("%d operations, %d of them syncs; %d states", len(f.ops), syncs, len(all))
	bad := 0
	for i, c := range all {
		wrong := f.try(t, i, c)
		if len(wrong) == 0 {
			continue
		}
		bad++
		t.Errorf("%v: %d things are wrong:\n\t%.100000s", c, len(wrong), strings.Join(wrong[:min(5, len(wrong))], "\n\t"))
		if bad >= maxBad || strings.Contains(wrong[0], hanging) {
			t.Fatalf("%d of %d states were tried: more need not be", i+1, len(all))
		}
	}
	t.Logf("%d states of %d are wrong", bad, len(all))
}

// try has the store that a cut leaves used, collected in every eighth, and mounted in every 32nd.
func (f *film) try(t *testing.T, i int, c cut) []string {
	defer bounded()()
	dir := t.TempDir()
	defer os.RemoveAll(dir) // there are thousands
	top := filepath.Join(dir, "cut")
	if err := f.lay(c, top); err != nil {
		t.Fatalf("%v: %v", c, err)
	}
	wrong := f.check(top, c)
	if i%8 == 0 {
		wrong = append(wrong, collected(top)...)
	}
	if i%32 == 0 {
		wrong = append(mounted(t, dir, top), wrong...)
	}
	return wrong
}
