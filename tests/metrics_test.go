package tests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// freePort is a port of this host that nobody listens at.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// scraper asks an address for metrics, as Prometheus does.
type scraper struct {
	t       *testing.T
	network string
	addr    string
	client  *http.Client
}

func newScraper(t *testing.T, network, addr string) *scraper {
	s := &scraper{t: t, network: network, addr: addr}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	s.client = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	return s
}

func (s *scraper) text() string {
	s.t.Helper()
	r, err := s.client.Get("http://127.0.0.1/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain; version=0.0.4") {
		s.t.Fatalf("%v, %s: %s", err, r.Status, data)
	}
	return string(data)
}

// families reads an exposition.
func families(t *testing.T, text string) map[string]*dto.MetricFamily {
	t.Helper()
	p := expfmt.NewTextParser(model.UTF8Validation)
	f, err := p.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return f
}

// values gives each counter and gauge by name and labels, and the counts of histograms.
func (s *scraper) values() map[string]float64 {
	s.t.Helper()
	v := map[string]float64{}
	for name, f := range families(s.t, s.text()) {
		for _, m := range f.Metric {
			key := name
			for _, l := range m.Label {
				key += " " + l.GetValue()
			}
			v[key] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return v
}

// Metrics follow what is done, and their address outlives workers and upgrades.
func TestMetrics(t *testing.T) {
	at := freePort(t)
	m := newMount(t, "--metrics", at)
	s := newScraper(t, "tcp", at)
	dir := m.session("counted-session")
	log := dir + "/messages.jsonl"
	before := s.values()
	lines := message("user", "one") + message("assistant", "two") + message("user", "three")
	add(t, log, lines)
	wants(t, "a line that is no object", tryAdd(log, "junk\n"), syscall.EINVAL)
	for range 3 {
		read(t, dir+"/context/pack.md")
	}
	f := openLog(t, log)
	after := s.values()
	for key, want := range map[string]float64{
		"ctxfs_appended_records_total":         3,
		"ctxfs_appended_bytes_total":           float64(len(lines)),
		"ctxfs_refused_lines_total not_object": 1,
		"ctxfs_refused_lines_total too_long":   0,
		"ctxfs_refused_lines_total torn":       0,
		"ctxfs_pack_build_seconds":             1,
		"ctxfs_fuse_requests_total write":      2,
		"ctxfs_fuse_errors_total EINVAL write": 1,
		"ctxfs_open_files":                     1,
		"ctxfs_open_sessions":                  1,
		"ctxfs_sessions":                       0,
		"ctxfs_worker_restarts_total":          0,
	} {
		if got := after[key] - before[key]; got != want {
			t.Errorf("%s changed by %v, not %v", key, got, want)
		}
	}
	if n := after["ctxfs_sessions"]; n != 1 {
		t.Errorf("%v sessions", n)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	text := s.text()
	for _, name := range []string{"counted-session", `"coder`, m.store} {
		if strings.Contains(text, name) {
			t.Errorf("it names %s:\n%s", name, text)
		}
	}
	m.metricsTable(text)
	for i := range 3 {
		if m.crashes = true; i == 2 {
			run(t, "upgrade", m.point)
		} else if err := syscall.Kill(m.worker(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if n := s.values()["ctxfs_worker_restarts_total"]; n != float64(i+1) { // the port does not close
			t.Errorf("%v workers took another's place, not %d", n, i+1)
		}
	}
}

// metricsTable holds docs/metrics.md to what is served, and that to Prometheus' rules for names.
func (m *mount) metricsTable(text string) {
	m.t.Helper()
	doc := read(m.t, "../docs/metrics.md")
	rows := regexp.MustCompile("(?m)^\\| `(ctxfs_[a-z_]+)(?:\\{([a-z,]+)\\})?` \\| ([a-z]+) \\|").FindAllStringSubmatch(doc, -1)
	told := map[string]string{}
	for _, r := range rows {
		if !strings.HasPrefix(r[1], "ctxfs_gc_") {
			told[r[1]] = r[3] + " " + r[2]
		}
	}
	is := map[string]string{}
	for name, f := range families(m.t, text) {
		if !strings.HasPrefix(name, "ctxfs_") {
			continue
		}
		var labels []string
		for _, l := range f.Metric[0].Label {
			labels = append(labels, l.GetName())
		}
		is[name] = strings.ToLower(f.GetType().String()) + " " + strings.Join(labels, ",")
	}
	if !maps.Equal(told, is) {
		m.t.Errorf("docs/metrics.md tells of\n%v\nthere is\n%v", told, is)
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "ctxfs_") {
			m.t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	if err != nil {
		m.t.Error(err)
	}
}

// At a port every user of the host may look, and nobody can do more. A browser may not be made to, and who keeps connections takes none
// of the daemon's files from others.
func TestMetricsOfOthers(t *testing.T) {
	at := freePort(t)
	m := newMount(t, "--metrics", at)
	s := newScraper(t, "tcp", at)
	for _, r := range []struct {
		method, path, host string
		want               int
	}{
		{"GET", "/metrics", "localhost:1", 200}, {"HEAD", "/metrics", "[::1]", 200}, {"GET", "/metrics", "evil.example", 403},
		{"POST", "/metrics", "127.0.0.1", 404}, {"GET", "/debug/pprof/", "127.0.0.1", 404}, {"GET", "/", "127.0.0.1", 404},
	} {
		q, err := http.NewRequest(r.method, "http://127.0.0.1"+r.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Host = r.host
		a, err := s.client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.StatusCode != r.want {
			t.Errorf("%s %s of %s: %s, not %d", r.method, r.path, r.host, a.Status, r.want)
		}
	}
	was := m.fds()
	for range 100 {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	time.Sleep(100 * time.Millisecond)
	if n := m.fds() - was; n > 16 {
		t.Errorf("connections take %d of the daemon's files", n)
	}
}

// A Unix socket is its owner's alone, is there while workers come and go, and does not stay when the mount is gone.
func TestMetricsSocket(t *testing.T) {
	at := filepath.Join(t.TempDir(), "metrics.sock")
	m := newMount(t, "--metrics", "unix:"+at)
	s := newScraper(t, "unix", at)
	m.killWorker()
	if n := s.values()["ctxfs_worker_restarts_total"]; n != 1 {
		t.Errorf("%v workers took another's place", n)
	}
	st, err := os.Stat(at)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	if os.Getuid() == 0 {
		openPath(t, filepath.Dir(at))
		out, err := asUser(64002, "bash", "-c", fmt.Sprintf("exec 3<>/dev/null; curl -sS --unix-socket %s http://localhost/metrics || cat < %s", at, at)).CombinedOutput()
		if err == nil || strings.Contains(string(out), "ctxfs_") {
			t.Errorf("another user is let in: %s", out)
		}
	}
	if err := m.cmd.Process.Kill(); err != nil { // both die, and the name stays
		t.Fatal(err)
	}
	_ = m.cmd.Wait()
	m.start("--metrics", "unix:"+at)
	if n := s.values()["ctxfs_worker_restarts_total"]; n != 0 {
		t.Errorf("%v workers took another's place", n)
	}
	run(t, "umount", m.point)
	if err := m.cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, m.log)
	}
	if _, err := os.Lstat(at); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	m.start()
}
