package main

import (
	"context"
	"fmt"
	"os/signal"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"ctxfs/internal/mounts"
	"ctxfs/internal/top"

	"github.com/gdamore/tcell/v3"
)

// looked is what one look at a mount gave.
type looked struct {
	rows   []top.Row
	status map[string]string
	at     time.Time
	err    error
}

// watchSessions shows the sessions on the terminal until its user leaves. However it ends, the terminal is as it was.
func watchSessions(ctx context.Context, l *top.Looker, point string, f *topFlags, ink pen) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	opts := []tcell.TerminfoScreenOption{tcell.OptSanitizeContent(true), tcell.OptNegotiation(false)}
	if !ink.on {
		opts = append(opts, tcell.OptColors(0))
	}
	screen, err := tcell.NewScreen(opts...)
	if err == nil {
		err = screen.Init()
	}
	if err != nil {
		return fmt.Errorf("this terminal: %w (ctxfs top --once prints a table)", err)
	}
	defer screen.Fini()
	looks := make(chan looked)
	s := &sessionScreen{screen: screen, point: point, order: top.Order(f.order), filter: f.filter}
	go lookOften(ctx, l, point, f.interval, &s.shown, looks)
	return s.run(ctx, looks)
}

// lookOften looks at a mount until ctx is over: at most a fifth of the time is spent on it.
func lookOften(ctx context.Context, l *top.Looker, point string, interval time.Duration, shown *atomic.Pointer[[]string], looks chan<- looked) {
	for {
		began := time.Now()
		got := lookAt(l, point, began, shown)
		select {
		case looks <- got:
		case <-ctx.Done():
			return
		}
		took := time.Since(began)
		select {
		case <-time.After(max(interval-took, 4*took)):
		case <-ctx.Done():
			return
		}
	}
}

// lookAt looks once. A fault is an error: the terminal is to be given back first.
func lookAt(l *top.Looker, point string, now time.Time, shown *atomic.Pointer[[]string]) (got looked) {
	defer func() {
		if r := recover(); r != nil {
			got.err = fmt.Errorf("%v\n%s", r, debug.Stack())
		}
	}()
	var on []string
	if p := shown.Load(); p != nil {
		on = *p
	}
	err := l.Look(now, on)
	var status map[string]string
	if err == nil {
		status, err = mounts.Status(point)
	}
	if gone := mountError(point); err != nil && gone != nil {
		err = gone // that says more
	}
	return looked{rows: l.Rows(), status: status, at: now, err: err}
}
