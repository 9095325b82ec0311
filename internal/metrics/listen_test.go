package metrics

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestParseAddr(t *testing.T) {
	for text, want := range map[string]Addr{
		"127.0.0.1:9750":                     {"tcp", "127.0.0.1:9750"},
		"127.9.8.7:0":                        {"tcp", "127.9.8.7:0"},
		"[::1]:9750":                         {"tcp", "[::1]:9750"},
		"unix:/run/ctxfs/m.sock":             {"unix", "/run/ctxfs/m.sock"},
		"unix:/run/../run//m.sock":           {"unix", "/run/m.sock"},
		"":                                   {},
		":9750":                              {},
		"9750":                               {},
		"0.0.0.0:9750":                       {},
		"[::]:9750":                          {},
		"192.168.0.1:9750":                   {},
		"[::ffff:10.0.0.1]:9750":             {},
		"localhost:9750":                     {}, // what it is, a name server may say
		"127.0.0.1":                          {},
		"127.0.0.1:99999":                    {},
		"unix:m.sock":                        {},
		"unix:":                              {},
		"unix:/" + string(make([]byte, 200)): {},
	} {
		got, err := ParseAddr(text)
		if got != want || (err == nil) != (want != Addr{}) || err != nil && !errors.Is(err, ErrAddr) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestListenTakesOver(t *testing.T) {
	for _, a := range []Addr{{"tcp", "127.0.0.1:0"}, {"unix", filepath.Join(t.TempDir(), "m")}} {
		first := listen(t, a, nil)
		at := first.Addr().String()
		held, err := File(first)
		if err != nil {
			t.Fatal(err)
		}
		first.Close()
		c, err := net.Dial(a.Network, at) // while nobody accepts
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		second := listen(t, a, held)
		if second.Addr().String() != at {
			t.Errorf("%v: the next listens at %v, not %s", a, second.Addr(), at)
		}
		if s, err := second.Accept(); err != nil {
			t.Error(err)
		} else {
			s.Close()
		}
		held, err = File(second)
		if err != nil {
			t.Fatal(err)
		}
		second.Close()
		third := listen(t, Addr{"tcp", "127.0.0.2:0"}, held) // another one was asked for
		if !strings.HasPrefix(third.Addr().String(), "127.0.0.2:") {
			t.Errorf("it listens at %v", third.Addr())
		}
	}
}

func listen(t *testing.T, a Addr, held *os.File) net.Listener {
	t.Helper()
	l, err := Listen(a, held)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestListenUnix(t *testing.T) {
	a := Addr{"unix", filepath.Join(t.TempDir(), "m")}
	old := syscall.Umask(0)
	l := listen(t, a, nil)
	syscall.Umask(old)
	if st, err := os.Stat(a.Address); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if _, err := Listen(a, nil); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("one that is in use: %v", err)
	}
	l.Close()
	listen(t, a, nil).Close() // nobody listens at it any more
	if err := a.Remove(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(a.Address, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(a, nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("a file: %v", err)
	}
	if _, err := os.Stat(a.Address); err != nil {
		t.Errorf("the file is gone: %v", err)
	}
}

func TestLoopbackHost(t *testing.T) {
	for host, want := range map[string]bool{"127.0.0.1:9750": true, "127.0.0.1": true, "localhost:9750": true, "[::1]:9750": true, "::1": true, "[::1]": true,
		"evil.example:9750": false, "": false, "10.0.0.1:9750": false, "localhost.evil.example": false} {
		if loopback(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}
