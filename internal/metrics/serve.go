package metrics

import (
	"errors"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/net/netutil"
)

// What all who ask may have together: the port is open to every user of the host.
const (
	maxConns   = 16
	maxAnswers = 4 // at a time; who asks for more gets 503
	maxHeader  = 16 << 10
	readWait   = 5 * time.Second
	answerWait = 10 * time.Second
)

// Server answers at /metrics, in Prometheus' text format.
type Server struct {
	l   net.Listener
	srv *http.Server
}

// NewServer is a server of what c collects, and of what this process takes. What goes wrong goes to errs.
func NewServer(l net.Listener, c prometheus.Collector, errs *log.Logger) (*Server, error) {
	reg, err := Registry(c)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorLog: errs, MaxRequestsInFlight: maxAnswers, Timeout: answerWait}))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "metrics are at /metrics", http.StatusNotFound)
	})
	srv := &http.Server{Handler: local(mux), ErrorLog: errs, ReadTimeout: readWait, WriteTimeout: answerWait + readWait, MaxHeaderBytes: maxHeader}
	srv.SetKeepAlivesEnabled(false) // idle connections of others would take all there are
	return &Server{l: netutil.LimitListener(l, maxConns), srv: srv}, nil
}

// Serve answers until Close.
func (s *Server) Serve() error {
	if err := s.srv.Serve(s.l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Close ends all connections.
func (s *Server) Close() error { return s.srv.Close() }

// local lets in who knows that it asks this host: a page of another site, whose name was made to lead here, does not.
func local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && a.Network() == "tcp" && !loopback(r.Host) {
			http.Error(w, "ask for this host by its address", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// loopback tells whether a Host header names this host.
func loopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	a, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && a.Unmap().IsLoopback()
}
