package mcp

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/net/netutil"
)

// What all who connect may have together: the port is open to every user of the host. There is no limit to how long a request or an
// answer takes, since answers are streams; so who has no token is sent away before its request is read.
const (
	maxConns    = 256
	maxHeader   = 16 << 10
	headerWait  = 10 * time.Second
	idleWait    = 2 * time.Minute
	refusedWait = time.Second // for what still comes of a request that was refused
)

// ErrNotLoopback: a server for one user listens where only this host reaches it.
var ErrNotLoopback = errors.New("not a loopback address and port: use 127.0.0.1:PORT or [::1]:PORT")

// Listen opens a loopback port; port 0 is any that is free.
func Listen(addr string) (net.Listener, error) {
	a, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil || !a.IP.IsLoopback() {
		return nil, fmt.Errorf("%s: %w", addr, ErrNotLoopback)
	}
	return net.ListenTCP("tcp", a)
}

// Serve answers at /mcp (Transports, Streamable HTTP) until ctx is over. Other users of the host reach the port too: whoever asks
// must show the token, as "Authorization: Bearer TOKEN". Requests that a browser sends for a page of another origin are refused.
func (s *Server) Serve(ctx context.Context, l net.Listener, token string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go s.watch(ctx)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp },
		&mcp.StreamableHTTPOptions{MaxRequestBodyBytes: maxFile, SessionTimeout: 24 * time.Hour})
	mux := http.NewServeMux()
	mux.Handle("/mcp", bearer(token, http.NewCrossOriginProtection().Handler(handler)))
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: headerWait, IdleTimeout: idleWait, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	go func() {
		<-ctx.Done()
		_ = srv.Close()
	}()
	if err := srv.Serve(netutil.LimitListener(l, maxConns)); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// bearer lets in who has the token (RFC 6750). Hashes are compared, which are of one length.
func bearer(token string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if got := sha256.Sum256([]byte(given)); !ok || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(refusedWait))
			w.Header().Set("Connection", "close")
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a token is needed: Authorization: Bearer TOKEN", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
