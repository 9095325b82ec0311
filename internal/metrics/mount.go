package metrics

import (
	"maps"
	"runtime"
	"slices"

	"ctxfs/internal/fsnode"
	"ctxfs/internal/session"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Mount collects the figures of a mount when they are asked for.
type Mount struct {
	Version string
	Store   *session.Store
	FS      *fsnode.FS
}

// Registry has what c collects, and what this process takes of the host (process_*, go_*). No other part of the program can add to it.
func Registry(c prometheus.Collector) (*prometheus.Registry, error) {
	r := prometheus.NewRegistry()
	for _, c := range []prometheus.Collector{c, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewGoCollector()} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Describe says nothing: what is collected is checked at each time.
func (m *Mount) Describe(chan<- *prometheus.Desc) {}

// Collect gives all figures.
func (m *Mount) Collect(ch chan<- prometheus.Metric) {
	e := emitter{ch: ch}
	e.gauge("ctxfs_build_info", "Always 1; the labels say which program serves.", 1, "version", m.Version, "goversion", runtime.Version())
	m.mount(e)
	m.sessions(e)
	m.history(e)
}

// mount gives what the kernel asked for, and what is open.
func (m *Mount) mount(e emitter) {
	f := m.FS.Figures()
	e.counter("ctxfs_worker_restarts_total", "Workers that took the place of another, after a crash or an upgrade, since the mount was made.", float64(f.Workers-1))
	e.gauge("ctxfs_open_files", "Files and folders that are open in the mount.", float64(f.OpenFiles))
	e.gauge("ctxfs_open_sessions", "Sessions of which a log is open.", float64(f.OpenSessions))
	e.gauge("ctxfs_open_files_held_bytes", "Memory that is held for open files: generated files as they were opened, unfinished lines, control files being written.", float64(f.HeldBytes))
	e.gauge("ctxfs_connections", "Connections to the sockets of agents and models.", float64(f.Connections))
	e.gauge("ctxfs_log_passthrough", "1 when readers of logs go past the daemon: their requests are not counted.", flag(f.Passthrough))
	for _, o := range f.Operations {
		e.counter("ctxfs_fuse_requests_total", "Requests of the kernel, by operation as FUSE names it.", float64(o.Requests), "operation", o.Name)
		for _, name := range slices.Sorted(maps.Keys(o.Errors)) {
			e.counter("ctxfs_fuse_errors_total", "Requests that were answered with an error, by operation and errno. Many are everyday: ENOENT of a lookup.",
				float64(o.Errors[name]), "operation", o.Name, "errno", name)
		}
	}
}

// sessions gives how many there are, and what is kept of them.
func (m *Mount) sessions(e emitter) {
	if n, err := m.Store.Count(); err == nil {
		e.gauge("ctxfs_sessions", "Sessions in the store.", float64(n))
	}
	h := m.Store.Held()
	e.gauge("ctxfs_temporary_sessions", "Temporary sessions, in memory.", float64(m.Store.Temporary()))
	e.gauge("ctxfs_loaded_sessions", "Sessions that were used since the worker started.", float64(h.Loaded))
	e.gauge("ctxfs_ready_sessions", "Sessions whose logs are kept open and folded for the next use.", float64(h.Ready))
	e.gauge("ctxfs_ready_sessions_bytes", "History of ready sessions in bytes, and the bytes of their generated files that are kept.", float64(h.Bytes))
}

// history gives what was written to logs, and made of them.
func (m *Mount) history(e emitter) {
	s := m.Store.Stats
	e.counter("ctxfs_appended_records_total", "Lines that were appended to logs. Events of ctxfs do not count.", float64(s.Appended.Lines.Load()))
	e.counter("ctxfs_appended_bytes_total", "The bytes of those lines.", float64(s.Appended.Bytes.Load()))
	const refused = "What was set aside in quarantine, by reason: not_object (no JSON object), too_long, torn (the end of a log after a crash)."
	e.counter("ctxfs_refused_lines_total", refused, float64(s.NotObject.Load()), "reason", "not_object")
	e.counter("ctxfs_refused_lines_total", refused, float64(s.TooLong.Load()), "reason", "too_long")
	e.counter("ctxfs_refused_lines_total", refused, float64(s.Torn.Load()), "reason", "torn")
	buckets, count, sum := s.Packs.UpTo()
	e.ch <- prometheus.MustNewConstHistogram(prometheus.NewDesc("ctxfs_pack_build_seconds", "Packs that were built, by how long it took once the log was read.", nil, nil), count, sum, buckets)
	e.counter("ctxfs_pack_cache_hits_total", "Generated files that were as they had been made before.", float64(s.PackHits.Load()))
}

func flag(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// emitter sends metrics.
type emitter struct{ ch chan<- prometheus.Metric }

func (e emitter) gauge(name, help string, v float64, labels ...string) {
	e.send(prometheus.GaugeValue, name, help, v, labels)
}

func (e emitter) counter(name, help string, v float64, labels ...string) {
	e.send(prometheus.CounterValue, name, help, v, labels)
}

// send sends one; labels are names, each with its value behind it.
func (e emitter) send(kind prometheus.ValueType, name, help string, v float64, labels []string) {
	var keys, values []string
	for i := 0; i+1 < len(labels); i += 2 {
		keys, values = append(keys, labels[i]), append(values, labels[i+1])
	}
	e.ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, keys, nil), kind, v, values...)
}
