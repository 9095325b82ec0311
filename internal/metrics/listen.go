package metrics

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Addr is where metrics are served.
type Addr struct {
	Network string // tcp or unix
	Address string // 127.0.0.1:9750, or an absolute path
}

// ErrAddr is the error of what is no address that only this host reaches.
var ErrAddr = errors.New("metrics are served at 127.0.0.1:PORT, [::1]:PORT or unix:/PATH")

// ParseAddr reads an address as users write it.
func ParseAddr(text string) (Addr, error) {
	if path, ok := strings.CutPrefix(text, "unix:"); ok {
		if !filepath.IsAbs(path) || len(path) >= len(unix.RawSockaddrUnix{}.Path) {
			return Addr{}, fmt.Errorf("%w, not %q: a socket's path is absolute, and shorter than %d bytes", ErrAddr, text, len(unix.RawSockaddrUnix{}.Path))
		}
		return Addr{"unix", filepath.Clean(path)}, nil
	}
	a, err := netip.ParseAddrPort(text)
	if err != nil {
		return Addr{}, fmt.Errorf("%w, not %q", ErrAddr, text)
	}
	if !a.Addr().Unmap().IsLoopback() {
		return Addr{}, fmt.Errorf("%w, not %q: other hosts would reach it", ErrAddr, text)
	}
	return Addr{"tcp", a.String()}, nil
}

// Listen opens a. held is the socket of a process before this one, nil for none; it is taken when it is that of a, and closed else.
func Listen(a Addr, held *os.File) (net.Listener, error) {
	if held != nil {
		l, err := net.FileListener(held)
		if err = errors.Join(err, held.Close()); err == nil && a.is(l) {
			return l, nil
		}
		if l != nil {
			_ = l.Close() // it is another's
		}
	}
	if err := a.free(); err != nil {
		return nil, fmt.Errorf("metrics at %s: %w", a.Address, err)
	}
	// Linux gives a socket's name the mode of its descriptor: at no time may others connect.
	lc := net.ListenConfig{Control: func(network, _ string, c syscall.RawConn) (err error) {
		if network != "unix" {
			return nil
		}
		return errors.Join(c.Control(func(fd uintptr) { err = unix.Fchmod(int(fd), 0o600) }), err)
	}}
	l, err := lc.Listen(context.Background(), a.Network, a.Address)
	if errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EPERM) {
		err = fmt.Errorf("%w (the systemd unit allows Unix sockets only: see docs/metrics.md)", err)
	}
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false) // it may live on with the next process
	}
	return l, nil
}

// File gives a listener's socket, to be held for the next process.
func File(l net.Listener) (*os.File, error) {
	f, ok := l.(interface{ File() (*os.File, error) })
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return f.File()
}

// is tells whether l listens at a, and can be found there.
func (a Addr) is(l net.Listener) bool {
	at := l.Addr()
	if at.Network() != a.Network {
		return false
	}
	if a.Network == "unix" {
		_, err := os.Lstat(a.Address)
		return at.String() == a.Address && err == nil
	}
	want, err := netip.ParseAddrPort(a.Address)
	has, herr := netip.ParseAddrPort(at.String())
	return err == nil && herr == nil && want.Addr() == has.Addr() && (want.Port() == 0 || want.Port() == has.Port())
}

// free takes away a socket that nobody listens at any more.
func (a Addr) free() error {
	if a.Network != "unix" {
		return nil
	}
	st, err := os.Lstat(a.Address)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if st.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("there is a file already that is no socket: %w", fs.ErrExist)
	}
	c, err := net.Dial("unix", a.Address)
	if err == nil {
		_ = c.Close()
		return fmt.Errorf("somebody listens there: %w", unix.EADDRINUSE)
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		return err
	}
	return os.Remove(a.Address)
}

// Remove takes the name of a's socket away, when the work is over.
func (a Addr) Remove() error {
	if a.Network != "unix" {
		return nil
	}
	return os.Remove(a.Address)
}
