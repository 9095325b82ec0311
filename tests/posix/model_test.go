package posix

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// games are the random tests.
func games() []game {
	return []game{
		{"plain files", beginPlain, nextPlain},
		{"control files", beginControl, nextControl},
	}
}

// TestModel does random operations on plain files and on control files, and compares each result, and from time to time everything,
// with a model. The worker is killed in between. CTXFS_MODEL_SEED repeats a run, CTXFS_MODEL_TIME has it go on, and CTXFS_MODEL_OPS
// plays a file of operations, as a failure leaves one.
func TestModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("CTXFS_MODEL_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		must(t, err)
	}
	long := 3 * time.Second
	if testing.Short() {
		long = time.Second
	}
	if text := os.Getenv("CTXFS_MODEL_TIME"); text != "" {
		var err error
		long, err = time.ParseDuration(text)
		must(t, err)
	}
	for _, g := range games() {
		t.Run(g.name, func(t *testing.T) {
			m := newMount(t)
			m.crashes = true
			if file := os.Getenv("CTXFS_MODEL_OPS"); file != "" {
				ops, err := readOps(file)
				must(t, err)
				if f := g.play(m, 0, ops); f != nil {
					t.Error(f)
				}
				return
			}
			g.rounds(t, m, seed, long)
		})
	}
}

// perRound is how many operations are done in one place.
const perRound = 400

// rounds plays with ever other operations for so long.
func (g *game) rounds(t *testing.T, m *mount, seed uint64, long time.Duration) {
	n, done := 0, 0
	for until := time.Now().Add(long); time.Now().Before(until); n++ {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		ops := make([]op, perRound)
		for i := range ops {
			if ops[i] = g.next(r); r.IntN(100) == 0 {
				ops[i] = op{"kill"}
			}
		}
		done += len(ops)
		f := g.play(m, n, ops)
		if f == nil {
			continue
		}
		n++
		f = g.shrink(m, &n, f, 200)
		file := filepath.Join(os.TempDir(), "ctxfs-model-"+strings.ReplaceAll(g.name, " ", "-")+".ops")
		var b strings.Builder
		for _, o := range f.ops {
			b.WriteString(o.String() + "\n")
		}
		must(t, os.WriteFile(file, []byte(b.String()), 0o644))
		t.Errorf("CTXFS_MODEL_SEED=%d, round %d; again with CTXFS_MODEL_OPS=%s\n%v", seed, n, file, f)
		return
	}
	t.Logf("CTXFS_MODEL_SEED=%d: %d rounds, %d operations", seed, n, done)
}
