package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ctxfs/internal/beneath"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// GC is what a run of gc did.
type GC struct {
	Store    string // its folder
	Began    time.Time
	Took     time.Duration
	Planned  int // actions
	Done     int
	Busy     int   // sessions left as they are, since they are open
	Archived int64 // bytes of logs that were moved
	Freed    int64 // bytes
	Err      error // nil: all went well
}

const lastSuccess = "ctxfs_gc_last_success_timestamp_seconds"

// Describe says nothing: what is collected is checked.
func (g GC) Describe(chan<- *prometheus.Desc) {}

// Collect gives the figures of the run.
func (g GC) Collect(ch chan<- prometheus.Metric) {
	e := emitter{ch: ch}
	for _, m := range []struct {
		name, help string
		value      float64
	}{
		{"timestamp_seconds", "When gc began last.", seconds(g.Began)},
		{"duration_seconds", "How long it took.", g.Took.Seconds()},
		{"success", "1 when all of it went well.", flag(g.Err == nil)},
		{"errors", "Parts that failed; the rest was done.", float64(failures(g.Err))},
		{"planned_actions", "Actions of the plan.", float64(g.Planned)},
		{"done_actions", "Those that were carried out.", float64(g.Done)},
		{"busy_sessions", "Sessions that were left as they are, since they were open.", float64(g.Busy)},
		{"archived_bytes", "Bytes of logs that were moved into cold stores.", float64(g.Archived)},
		{"freed_bytes", "Bytes that were given back.", float64(g.Freed)},
	} {
		e.gauge("ctxfs_gc_last_run_"+m.name, m.help, m.value, "store", g.Store)
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// failures counts the errors that were joined.
func failures(err error) (n int) {
	if err == nil {
		return 0
	}
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return 1
	}
	for _, e := range joined.Unwrap() {
		n += failures(e)
	}
	return max(n, 1)
}

// WriteGC writes the figures of a run to a file for node_exporter's textfile collector, in one step, readable by all. After a run that
// failed, the file still says when one went well. Errors name the file.
func WriteGC(path string, g GC) error {
	well := g.Began
	if g.Err != nil {
		well = time.Time{}
	}
	at := seconds(well)
	if well.IsZero() {
		at = succeeded(path, g.Store)
	}
	reg := prometheus.NewRegistry()
	last := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: lastSuccess, Help: "When the last gc began of which all went well; 0: none is known."}, []string{"store"})
	last.WithLabelValues(g.Store).Set(at)
	if err := errors.Join(reg.Register(g), reg.Register(last)); err != nil {
		return err
	}
	all, err := reg.Gather()
	if err != nil {
		return err
	}
	var out bytes.Buffer
	for _, f := range all {
		if _, err := expfmt.MetricFamilyToText(&out, f); err != nil {
			return err
		}
	}
	dir, err := beneath.Open(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) { // the figures are what is missing, and not the store
		return fmt.Errorf("%s: there is no folder of this name (mkdir -p %s)", path, filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := errors.Join(dir.WriteFile(filepath.Base(path), out.Bytes(), 0o644, beneath.Owner{}), dir.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err) // which names a temporary file
	}
	return nil
}

// succeeded is when the file before this says that a run went well; 0 when it does not.
func succeeded(path, store string) float64 {
	data, err := os.ReadFile(path) // #nosec G304 -- the user's own
	if err != nil {
		return 0
	}
	p := expfmt.NewTextParser(model.UTF8Validation)
	all, err := p.TextToMetricFamilies(bytes.NewReader(data))
	if err != nil || all[lastSuccess] == nil {
		return 0
	}
	for _, m := range all[lastSuccess].Metric {
		for _, l := range m.Label {
			if l.GetName() == "store" && l.GetValue() == store {
				return m.GetGauge().GetValue()
			}
		}
	}
	return 0
}
