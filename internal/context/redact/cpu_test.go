package redact

import (
	"syscall"
	"testing"
)

// cpuRate reports the speed of a benchmark in its own processor time, which a busy machine changes less. It gives what
// is to be called at the end, with the bytes of one round.
func cpuRate(b *testing.B) func(size int) {
	begin := cpuSeconds(b)
	return func(size int) {
		if used := cpuSeconds(b) - begin; used > 0 {
			b.ReportMetric(float64(size)*float64(b.N)/used/1e6, "cpu-MB/s")
		}
	}
}

func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
