package pack

import (
	"bytes"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"ctxfs/internal/quality/corpus"
	"ctxfs/internal/quality/made"
	"ctxfs/internal/record"
)

// realRecords joins the real coding sessions.
func realRecords(b *testing.B) []byte {
	dir := corpus.Dir()
	if dir == "" {
		b.Skip("SKIP: ../shared/data is not here")
	}
	list, err := corpus.Coding(dir)
	if err != nil {
		b.Fatal(err)
	}
	var out []byte
	for _, s := range list {
		out = append(out, s.Log...)
	}
	return out
}

// cpuTime is what the process has used of all cores: on a machine with other work it is steadier than the clock.
func cpuTime() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r) // fails for a wrong argument only
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// appender is a session that is appended to and packed.
type appender struct {
	h    *record.Memory
	w    *Workset
	n    int
	used time.Duration
}

func newAppender(b *testing.B, log []byte, records int) *appender {
	a := &appender{h: record.NewMemory(log), w: NewWorkset(counter(b)), n: records}
	for i := 1; i <= records; i++ {
		add(b, a.w, a.h, i)
	}
	build(b, a.w, a.h, 32000)
	return a
}

func (a *appender) step(b *testing.B) {
	start := cpuTime()
	a.n++
	add(b, a.w, a.h, a.n)
	build(b, a.w, a.h, 32000)
	a.used += cpuTime() - start
}

// BenchmarkNextPack is an append and the pack after it, in turns on a session of 1,000 and one of 100,000 records.
// Issue: ratio at most 1.5.
func BenchmarkNextPack(b *testing.B) {
	const most = 4000
	nextPacks(b, made.Log(100_000+most), 1000, 100_000, most)
}

// nextPacks appends up to most records to two sessions that begin with so many records of a log, in turns, and packs them.
func nextPacks(b *testing.B, log []byte, few, many, most int) {
	small, large := newAppender(b, log, few), newAppender(b, log, many)
	runtime.GC()
	b.ResetTimer()
	for i := 0; i < b.N && i < most; i++ {
		small.step(b)
		large.step(b)
	}
	per := float64(min(b.N, most)) * 1e6
	b.ReportMetric(float64(small.used)/per, fmt.Sprintf("ms-at-%d", few))
	b.ReportMetric(float64(large.used)/per, fmt.Sprintf("ms-at-%d", many))
	b.ReportMetric(float64(large.used)/float64(small.used), "ratio")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkNextPackReal is the same over the real coding sessions, one after the other: from record 1,000 on and at their end.
func BenchmarkNextPackReal(b *testing.B) {
	log := realRecords(b)
	const most = 400
	nextPacks(b, log, 1000, record.NewMemory(log).Len()-most, most)
}

// BenchmarkFirstIndex is the first index of an old session: made is the worst case for the index of words, since
// nothing of it is a function word or comes again as a whole. Issue: 50 MB/s a core.
func BenchmarkFirstIndex(b *testing.B) {
	counter(b)
	run := func(b *testing.B, log []byte) {
		runtime.GC()
		start := cpuTime()
		for b.Loop() {
			indexed := foldBare(b, log)
			runtime.KeepAlive(indexed)
		}
		b.ReportMetric(float64(len(log))*float64(b.N)/1e6/(cpuTime()-start).Seconds(), "MB/s-a-core")
		b.ReportMetric(0, "ns/op")
	}
	b.Run("made", func(b *testing.B) { run(b, made.Log(20_000)) })
	b.Run("real", func(b *testing.B) { run(b, realRecords(b)) })
}

// foldBare folds a log as a session does, line by line, without an index of its lines.
func foldBare(b *testing.B, log []byte) *Workset {
	w := NewWorkset(counter(b))
	n, at := 0, int64(0)
	for line := range bytes.Lines(log) {
		n++
		r, err := record.Parse(line, n, at)
		if err != nil {
			b.Fatal(err)
		}
		w.Add(r, line)
		at += int64(len(line))
	}
	return w
}

// BenchmarkIndexMemory is what the fold holds for each record: made ones are about 1 KB (see BenchmarkFirstIndex), real
// ones vary. Issue: at most 200 bytes for records of 1 KB.
func BenchmarkIndexMemory(b *testing.B) {
	counter(b)
	run := func(b *testing.B, log []byte) {
		for b.Loop() {
			before := heapBytes()
			w := foldBare(b, log)
			held := heapBytes() - before
			b.ReportMetric(held/float64(w.Len()), "B/record")
			b.ReportMetric(held*1024/float64(len(log)), "B/KB")
			b.ReportMetric(float64(len(log))/float64(w.Len()), "B/line")
			runtime.KeepAlive(w)
		}
		b.ReportMetric(0, "ns/op")
		runtime.KeepAlive(log)
	}
	b.Run("made", func(b *testing.B) { run(b, made.Log(50_000)) })
	b.Run("real", func(b *testing.B) { run(b, realRecords(b)) })
}

func heapBytes() float64 {
	runtime.GC()
	runtime.GC() // the first may leave what has a finalizer, or lies in a pool
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
