package main

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// row is what one method made of a set.
type row struct {
	stored  int64
	ingest  time.Duration // CPU time
	collect time.Duration // CPU time of a collection after it; zero: none
	restore time.Duration // by the clock
}

func (s *set) table(work string, others bool) error {
	fmt.Printf("\n%s: %d files, %.1f MB\n\n", s.name, len(s.files), mb(s.raw))
	fmt.Println("| method | stored bytes | % of raw | ingest MB/s | gc MB/s | restore MB/s |")
	fmt.Println("| --- | --- | --- | --- | --- | --- |")
	all := ours()
	if others {
		all = append(all, tools()...)
	}
	for _, m := range all {
		if m.missing() != "" {
			fmt.Printf("| %s | SKIP: %s is not here | | | | |\n", m.name, m.missing())
			continue
		}
		dir, err := os.MkdirTemp(work, "store-")
		if err != nil {
			return err
		}
		r, err := m.run(s, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		gc := "–"
		if r.collect > 0 {
			gc = fmt.Sprintf("%.0f", rate(s.raw, r.collect))
		}
		fmt.Printf("| %s | %d | %.2f | %.0f | %s | %.0f |\n", m.name, r.stored, 100*float64(r.stored)/float64(s.raw), rate(s.raw, r.ingest), gc,
			rate(s.raw, r.restore))
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}

func mb(n int64) float64 { return float64(n) / 1e6 }

func rate(n int64, d time.Duration) float64 { return mb(n) / d.Seconds() }

// cpu is the processor time that this process has taken, or that its children have.
func cpu(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
