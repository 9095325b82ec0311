package main

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
)

// patience is how long work lasts before it shows how far it is, and redraw how often it does so then.
const patience, redraw = 500 * time.Millisecond, 100 * time.Millisecond

// progress shows on a terminal how far long work is; elsewhere nothing. It draws by itself, so that a long step shows the time go by.
type progress struct {
	done, all atomic.Int64
	what      string
	bytes     bool
	over      chan struct{} // nil: nothing is shown
	drawing   sync.WaitGroup
}

// newProgress is for work of all steps, or bytes; all < 0: nobody knows. It must be ended, and before anything else is printed.
func newProgress(w io.Writer, what string, all int64, bytes bool) *progress {
	p := &progress{what: oneLine(what), bytes: bytes}
	p.all.Store(all)
	if isTerminal(w) && os.Getenv("TERM") != "dumb" {
		p.over = make(chan struct{})
		over := p.over
		p.drawing.Go(func() { p.draw(w, over) })
	}
	return p
}

func (p *progress) set(done int64)               { p.done.Store(done) }
func (p *progress) steps(done, all int)          { p.done.Store(int64(done)); p.all.Store(int64(all)) }
func (p *progress) stepped()                     { p.done.Add(1) }
func (p *progress) follow(r io.Reader) io.Reader { return io.TeeReader(r, p) }

// Write counts bytes that go by: p can be one of the writers of an io.MultiWriter.
func (p *progress) Write(b []byte) (int, error) {
	p.done.Add(int64(len(b)))
	return len(b), nil
}

// end takes the bar away. It may be called again.
func (p *progress) end() {
	if p.over != nil {
		close(p.over)
		p.drawing.Wait()
		p.over = nil
	}
}

func (p *progress) draw(w io.Writer, over <-chan struct{}) {
	select {
	case <-over:
		return
	case <-time.After(patience):
	}
	shown := p.all.Load()
	bar := p.bar(w, shown)
	tick := time.NewTicker(redraw)
	defer tick.Stop()
	for {
		if all := p.all.Load(); all != shown {
			shown = all
			bar.ChangeMax64(all)
		}
		_ = bar.Set64(p.now()) // a bar that cannot be drawn is no loss
		select {
		case <-over:
			_ = bar.Clear()
			return
		case <-tick.C:
		}
	}
}

// now is how much is done: never all, since then the bar would be gone while the last step still runs.
func (p *progress) now() int64 {
	done := p.done.Load()
	if all := p.all.Load(); all > 0 {
		return max(min(done, all-1), 0)
	}
	return done
}

// bar is a bar that fits the terminal beside what stands on its line.
func (p *progress) bar(w io.Writer, all int64) *progressbar.ProgressBar {
	const widest, narrowest, beside = 30, 5, 45 // columns
	what, width := cell(p.what), widest
	if wide := columns(w); wide > 0 {
		width = max(min(widest, wide-beside-utf8.RuneCountInString(what)), narrowest)
	}
	// Without an interval no goroutine of the library's draws it too: one that would go on after Clear.
	return progressbar.NewOptions64(all, progressbar.OptionSetSpinnerChangeInterval(0), progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what), progressbar.OptionShowBytes(p.bytes),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(width), progressbar.OptionSetElapsedTime(true))
}
