package posix

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ctxfs/internal/quality/procs"
	"ctxfs/tests/testhost"
)

// stressors are those of stress-ng that make sense on such a mount. Left out are those that need what there is not (hard links,
// attributes, device nodes, fiemap, verity), that do not touch files, and io-uring, which fails on ext4, too.
func stressors() []string {
	return []string{"hdd", "iomix", "dentry", "dir", "dirmany", "fallocate", "filename", "flock", "open", "rename", "seek", "sync-file", "utime", "chmod", "chown", "access", "fstat",
		"getdent", "lockf", "lockofd", "lease", "copy-file", "sendfile", "splice", "readahead", "revio", "touch", "aio", "aiol", "fcntl", "fpunch", "msync", "io", "dnotify", "inotify", "file-ioctl"}
}

// fioJobs write, and read back what they wrote. A log cannot be written by fio, which does not open it to append.
func fioJobs() [][]string {
	return [][]string{
		{"--ioengine=psync", "--rw=randwrite", "--bs=4k", "--fsync=16"},
		{"--ioengine=psync", "--rw=write", "--bs=64k", "--fdatasync=4"},
		{"--ioengine=pvsync", "--rw=randrw", "--bsrange=512-64k", "--end_fsync=1"},
		{"--ioengine=mmap", "--rw=randwrite", "--bs=4k"},
		{"--ioengine=libaio", "--iodepth=8", "--direct=1", "--rw=randwrite", "--bs=4k"},
		{"--ioengine=sync", "--rw=write", "--bs=1m", "--sync=1", "--fallocate=posix"},
	}
}

// roundTime is how long a session is worked in. Then it is checked, and makes room for another.
const roundTime = 20 * time.Second

// stress is a mount under load.
type stress struct {
	*mount
	session string
	stop    atomic.Bool
	wg      sync.WaitGroup
	lines   atomic.Int64
	bytes   atomic.Int64
	packs   atomic.Int64
	kills   int
}

// TestStress loads a mount for CTXFS_STRESS: writers of logs in many ways, readers of packs, fio and stress-ng on plain files, and in
// three of four rounds workers that are killed. Every log is whole after its round. At the end memory is level, nothing is open, and
// the store is as it should be.
func TestStress(t *testing.T) {
	text := os.Getenv("CTXFS_STRESS")
	if text == "" {
		t.Skip("SKIP: make stress runs it")
	}
	long, err := time.ParseDuration(text)
	must(t, err)
	for _, name := range []string{"fio", "stress-ng"} {
		if _, err := exec.LookPath(name); err != nil {
			testhost.Skip(t, "%v", err)
		}
	}
	s := &stress{mount: newMount(t)}
	s.crashes = true
	fds := s.fds()
	var level []int64
	start := time.Now()
	for n := 0; n == 0 || time.Since(start) < long; n++ {
		killed := n%4 != 3
		s.round(n, killed)
		if t.Failed() {
			return
		}
		time.Sleep(2 * time.Second) // what the load took is given back at rest
		all, own := procs.Memory(s.cmd.Process.Pid)
		t.Logf("%6.0f s, round %d: %d lines, %d MB, %d packs, %d kills; at rest %d MB resident, %d MB own, %d descriptors", time.Since(start).Seconds(), n, s.lines.Load(), s.bytes.Load()>>20,
			s.packs.Load(), s.kills, all>>20, own>>20, s.fds())
		if !killed {
			level = append(level, own)
		}
	}
	if n := len(level); n > 2 && level[n-1] > slices.Min(level[:2])*3/2+32<<20 {
		t.Errorf("memory is not level: %v bytes at rest", level)
	}
	if now := s.fds(); now > fds+2*128+16 { // logs of 128 sessions stay open by design
		t.Errorf("%d descriptors at the start, %d now", fds, now)
	}
}

// round works in a new session, and checks its log.
func (s *stress) round(n int, killed bool) {
	root, _ := s.room()
	agent := filepath.Dir(root)
	s.session = fmt.Sprintf("%s/session/r%d", agent, n)
	must(s.t, os.MkdirAll(s.session, 0o755))
	work := []string{fmt.Sprintf("%s/context/pinned/work", s.session), fmt.Sprintf("%s/work%d", root, n)}
	for _, dir := range work {
		must(s.t, os.MkdirAll(dir, 0o755))
	}
	s.stop.Store(false)
	written := make([]int, len(styles()))
	for i, style := range styles() {
		s.wg.Go(func() { written[i] = s.write(i, style) })
	}
	s.wg.Go(s.read)
	for _, dir := range work {
		s.wg.Go(func() { s.fio(dir) })
		s.wg.Go(func() { s.stressNG(dir) })
	}
	until := time.Now().Add(roundTime)
	for killed && time.Now().Before(until) {
		time.Sleep(time.Duration(500+rand.IntN(4000)) * time.Millisecond)
		s.killWorker()
		s.kills++
	}
	time.Sleep(time.Until(until))
	s.stop.Store(true)
	s.wg.Wait()
	s.whole(written)
	for _, dir := range work {
		must(s.t, os.RemoveAll(dir))
	}
	if n%3 == 2 {
		s.command("session", "archive", s.session)
		s.whole(written)
	}
	if n > 0 {
		s.command("session", "delete", "--yes", fmt.Sprintf("%s/session/r%d", agent, n-1))
	}
	if n%10 == 9 {
		s.command("gc", "--store", s.store)
	}
}

func (s *stress) command(args ...string) {
	s.t.Helper()
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		s.t.Errorf("ctxfs %v: %v\n%s", args, err, out)
	}
}

// style is how a writer writes: so many lines at once, cut into pieces of so many bytes (0: in one), and synced every so many writes.
type style struct{ lines, piece, sync int }

func styles() []style {
	return []style{{1, 0, 0}, {1, 0, 1}, {64, 0, 16}, {2000, 0, 4}, {50, 4096, 0}, {10, 7, 100}}
}

// line is one that a writer wrote. Some are long.
func stressLine(writer, n int) string {
	return fmt.Sprintf("{\"role\":\"user\",\"content\":\"w%d %d %s\"}\n", writer, n, strings.Repeat("x", n%200*(1+n%3)))
}

// write appends lines until the round is over, and gives how many.
func (s *stress) write(writer int, how style) (n int) {
	f, err := os.OpenFile(s.session+"/messages.jsonl", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		s.t.Error(err)
		return 0
	}
	for writes := 1; !s.stop.Load() && err == nil; writes++ {
		var block strings.Builder
		for range how.lines {
			block.WriteString(stressLine(writer, n))
			n++
		}
		text := block.String()
		for text != "" && err == nil {
			piece := len(text)
			if how.piece > 0 {
				piece = min(piece, how.piece)
			}
			_, err = f.WriteString(text[:piece])
			s.bytes.Add(int64(piece))
			text = text[piece:]
		}
		if how.sync > 0 && writes%how.sync == 0 && err == nil {
			err = f.Sync()
		}
		time.Sleep(time.Duration(how.lines) * 2 * time.Millisecond) // else what is checked is gigabytes
	}
	s.lines.Add(int64(n))
	if err := errors.Join(err, f.Close()); err != nil {
		s.t.Errorf("writer %d: %v", writer, err)
	}
	return n
}

// whole checks that the log has each writer's lines, all, in order, and no other.
func (s *stress) whole(written []int) {
	s.t.Helper()
	data, err := os.ReadFile(s.session + "/messages.jsonl")
	must(s.t, err)
	next := make([]int, len(written))
	for line := range strings.Lines(string(data)) {
		var writer int
		if _, err := fmt.Sscanf(line, "{\"role\":\"user\",\"content\":\"w%d ", &writer); err != nil || writer >= len(next) || line != stressLine(writer, next[writer]) {
			s.t.Fatalf("a line is %.100q", line)
		}
		next[writer]++
	}
	if !slices.Equal(next, written) {
		s.t.Errorf("%v lines of each writer, %v were written", next, written)
	}
}

// read reads packs, and what else is made of the log.
func (s *stress) read() {
	for i := 0; !s.stop.Load(); i++ {
		for _, name := range []string{"context/pack.md", fmt.Sprintf("context/pack@%d.json", 1000+i%5*500), "latest.md", "context/summary.md", "context/recall/w1 17"} {
			if data, err := os.ReadFile(filepath.Join(s.session, name)); err != nil {
				s.t.Errorf("%s: %v, %d bytes", name, err, len(data))
			}
			s.packs.Add(1)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// fio runs one of its jobs after the other.
func (s *stress) fio(dir string) {
	for i := rand.IntN(100); !s.stop.Load(); i++ {
		jobs := fioJobs()
		args := append([]string{"--name=job", "--directory=" + dir, "--size=4m", "--numjobs=2", "--verify=crc32c", "--verify_fatal=1", "--do_verify=1", "--verify_state_save=0", "--verify_backlog=256",
			"--time_based", "--runtime=4", "--group_reporting"}, jobs[i%len(jobs)]...)
		out, err := exec.Command("fio", args...).CombinedOutput()
		if err != nil {
			s.t.Errorf("fio %v: %v\n%s", args, err, tail(out))
			return
		}
		for name := range 2 {
			_ = os.Remove(fmt.Sprintf("%s/job.%d.0", dir, name))
		}
	}
}

// stressNG runs some of its stressors at a time.
func (s *stress) stressNG(dir string) {
	for !s.stop.Load() {
		args := []string{"--temp-path", dir, "--timeout", "4s", "--verify", "--oomable"}
		all := stressors()
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, name := range all[:4] {
			args = append(args, "--"+name, "1")
		}
		out, err := exec.Command("stress-ng", args...).CombinedOutput()
		if err != nil {
			s.t.Errorf("stress-ng %v: %v\n%s", args, err, tail(out))
			return
		}
	}
}

func tail(out []byte) string {
	if len(out) > 3000 {
		out = out[len(out)-3000:]
	}
	return string(out)
}
