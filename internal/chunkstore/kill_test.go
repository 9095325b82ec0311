package chunkstore

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"ctxfs/internal/cas"
)

const killEnv = "CTXFS_CHUNKSTORE_KILL"

// TestKill kills a process that puts, seals and collects, at a moment it does not choose, again and again: what it said
// was put is there.
func TestKill(t *testing.T) {
	if top := os.Getenv(killEnv); top != "" {
		work(t, top)
		return
	}
	rounds := 12
	if testing.Short() {
		rounds = 4
	}
	top := t.TempDir()
	must(t, at(t, top, Options{}).Close()) // the first may be killed before it has made anything
	seen := 0
	for round := range rounds {
		acked := victim(t, top, round)
		s := at(t, top, Options{ReadOnly: true})
		for _, n := range acked {
			want(t, s, cas.Sum(numbered(n)), numbered(n))
		}
		_, err := s.Check(func(name string, err error) {
			if !isTorn(err) {
				t.Errorf("round %d: %s: %v", round, name, err)
			}
		})
		must(t, err)
		must(t, s.Close())
		seen += len(acked)
	}
	if seen == 0 {
		t.Error("no put was acknowledged")
	}
}

// numbered gives the blob of number n. Of some thousand, each comes again.
func numbered(n int) []byte { return noise(uint64(n%3000), 500+n%3000*5) }

// victim runs work for some milliseconds and gives the numbers that it acknowledged.
func victim(t *testing.T, top string, round int) (acked []int) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestKill$")
	cmd.Env = append(os.Environ(), killEnv+"="+top, killEnv+"_FROM="+strconv.Itoa(round*200))
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	time.AfterFunc(time.Duration(60+round*13)*time.Millisecond, func() { _ = cmd.Process.Kill() }) // it may have ended
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if n, err := strconv.Atoi(lines.Text()); err == nil {
			acked = append(acked, n)
		}
	}
	_ = cmd.Wait() // killed
	return acked
}

// work puts, seals and collects without end, and prints the number of each blob once it is acknowledged.
func work(t *testing.T, top string) {
	from, err := strconv.Atoi(os.Getenv(killEnv + "_FROM"))
	must(t, err)
	s := at(t, top, small())
	for n := from; ; n++ {
		put(t, s, numbered(n))
		fmt.Println(n)
		if n%5 == 0 {
			seal(t, s)
		}
		if n%17 == 0 {
			collect(t, s, Live{Blob: func(id cas.ID) bool { return id[0] < 128 }, Compress: n%2 == 0})
		}
	}
}
