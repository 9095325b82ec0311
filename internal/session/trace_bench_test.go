package session_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"ctxfs/internal/importer"
	"ctxfs/internal/session"
)

// BenchmarkTrace is what the records beside a pack cost their reader, in times of the pack itself: over real sessions of a
// megabyte and more, after each of some appends. A reader of the pack alone pays nothing of it.
func BenchmarkTrace(b *testing.B) {
	for _, budget := range []int{8000, 32000} {
		b.Run(fmt.Sprint(budget), func(b *testing.B) { benchmarkTrace(b, budget) })
	}
}

func benchmarkTrace(b *testing.B, budget int) {
	store, err := session.Open(b.TempDir(), session.Options{Budget: budget})
	must(b, err)
	defer store.Close()
	var list []*session.Session
	for i, file := range realLogs(b) {
		if st, err := os.Stat(file); err != nil || st.Size() < 1<<20 || len(list) == 6 {
			continue
		}
		x := importReal(b, store, file, fmt.Sprint("s", i))
		_, err := x.View("context/pack.md") // the first one reads the whole log
		must(b, err)
		list = append(list, x)
	}
	var pack, trace, compiled time.Duration
	view := func(x *session.Session, name string, sum *time.Duration) {
		start := time.Now()
		_, err := x.View(name)
		must(b, err)
		*sum += time.Since(start)
	}
	for b.Loop() {
		for _, x := range list {
			l, err := x.Log(session.Messages)
			must(b, err)
			must(b, l.Commit([]byte(`{"role":"user","content":"go on with the parser"}`+"\n")))
			x.Release()
			x.Appended(session.Messages)
			view(x, "context/pack.md", &pack)
			for _, name := range session.TraceNames() {
				switch name {
				case "pack.v2.json", "compiler.json", "contextos.json":
					view(x, "context/trace/"+name, &compiled)
				default:
					view(x, "context/trace/"+name, &trace)
				}
			}
		}
	}
	n := float64(b.N * len(list))
	b.ReportMetric(pack.Seconds()*1000/n, "ms/pack")
	b.ReportMetric(trace.Seconds()/pack.Seconds(), "trace/pack")
	b.ReportMetric((trace+compiled).Seconds()/pack.Seconds(), "trace+compiled/pack")
}

// importReal imports a log into a new session.
func importReal(b *testing.B, store *session.Store, file, name string) *session.Session {
	b.Helper()
	data, err := os.ReadFile(file)
	must(b, err)
	format, err := importer.Detect(data[:min(len(data), 256<<10)])
	must(b, err)
	c, err := store.Container("home/0/agent/coder")
	must(b, err)
	x, err := c.Create(name, session.Caller{})
	must(b, err)
	s := &lineSink{b: b, x: x}
	_, err = importer.Import(bytes.NewReader(data), format, s, nil)
	must(b, err)
	return x
}

// lineSink takes the messages of an import.
type lineSink struct {
	b *testing.B
	x *session.Session
}

func (s *lineSink) Message(line []byte) error {
	l, err := s.x.Log(session.Messages)
	must(s.b, err)
	defer s.x.Release()
	return l.Commit(append(line[:len(line):len(line)], '\n'))
}
func (s *lineSink) Event([]byte) error          { return nil }
func (s *lineSink) Blob([]byte) (string, error) { return "a picture", nil }
