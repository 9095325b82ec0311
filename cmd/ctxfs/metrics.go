package main

import (
	"errors"
	"log/slog"
	"net"
	"os"

	"ctxfs/internal/fsnode"
	"ctxfs/internal/metrics"
	"ctxfs/internal/session"
	"ctxfs/internal/supervise"
)

// metricsFile is the name by which the supervisor holds the socket at which metrics are served: it is there while one worker takes
// the other's place, and who asks meanwhile waits.
const metricsFile = "metrics"

// readMetrics checks --metrics.
func (m *mountFlags) readMetrics() error {
	if m.metrics == "" {
		return nil
	}
	var err error
	if m.at, err = metrics.ParseAddr(m.metrics); err != nil {
		return usageError{"--metrics: " + err.Error()}
	}
	return nil
}

// listen opens the socket of --metrics, or takes over the one of the worker before this; nil when none is asked for. Once a mount
// is in use, it is not given up for its metrics.
func (m *mountFlags) listen(w *supervise.Worker, log *slog.Logger) (net.Listener, error) {
	held := w.File(metricsFile)
	if m.metrics == "" {
		if held != nil {
			return nil, errors.Join(w.Drop(metricsFile), held.Close())
		}
		return nil, nil
	}
	l, err := metrics.Listen(m.at, held)
	if err != nil && w.File(supervise.Device) != nil {
		log.Warn("no metrics are served", "error", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f, err := metrics.File(l)
	if err != nil {
		return nil, err
	}
	return l, errors.Join(w.Keep(metricsFile, f), f.Close())
}

// serveMetrics answers at l, which may be nil, until stop is called.
func (m *mountFlags) serveMetrics(l net.Listener, store *session.Store, fs *fsnode.FS, log *slog.Logger) (stop func(), err error) {
	if l == nil {
		return func() {}, nil
	}
	s, err := metrics.NewServer(l, &metrics.Mount{Version: version, Store: store, FS: fs}, slog.NewLogLogger(log.Handler(), slog.LevelDebug))
	if err != nil {
		return nil, err
	}
	log.Info("metrics are served", "address", l.Addr().String())
	go func() {
		if err := s.Serve(); err != nil {
			log.Error("metrics are served no more", "error", err)
		}
	}()
	return func() {
		_ = s.Close() // nobody's answer is of use any more
		if err := m.at.Remove(); err != nil && !errors.Is(err, os.ErrNotExist) {
			log.Warn("the socket of metrics is left", "error", err)
		}
	}, nil
}
