package supervise

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// FuzzHear: what the other end says is heard as it was said, with its file; the end, as the end. And what systemd says of
// files names each that is needed, or none is taken.
func FuzzHear(f *testing.F) {
	f.Add([]byte("keep device"), true, "2", "device:open files")
	f.Add([]byte("failed 10 the store is another's"), false, "-1", "")
	f.Add([]byte("failed -99999999999999999999 x"), false, "99999999999", strings.Join([]string{Device, Region, Nodes, Device, ""}, ":"))
	f.Add([]byte{}, false, "3", strings.Join([]string{Device, Region, Nodes}, ":"))
	null, err := os.Open(os.DevNull)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, said []byte, with bool, n, names string) {
		ours, theirs := ends(t)
		defer ours.f.Close()
		defer theirs.f.Close()
		var rights []byte
		said = said[:min(len(said), maxMessage)]
		with = with && len(said) > 0 // a file goes with at least a byte
		if with {
			rights = unix.UnixRights(int(null.Fd()))
		}
		if err := unix.Sendmsg(int(ours.f.Fd()), said, rights, nil, unix.MSG_NOSIGNAL); err != nil {
			t.Fatal(err)
		}
		verb, arg, file, err := theirs.hear()
		if file != nil {
			file.Close()
		}
		switch {
		case len(said) == 0:
			if err != io.EOF {
				t.Errorf("nothing said: %v", err)
			}
		case err != nil || (file != nil) != with || verb != string(said) && verb+" "+arg != string(said) || strings.Contains(verb, " "):
			t.Errorf("%q: heard %q, %q, %v, %v", said, verb, arg, file, err)
		}
		if why := parseFailure(arg); !strings.HasSuffix(arg, why.Text) {
			t.Errorf("%q: %+v", arg, why)
		}
		env := map[string]string{"LISTEN_FDS": n, "LISTEN_PID": "7", "LISTEN_FDNAMES": names}
		s, ok := Inherited(7, func(k string) string { return env[k] })
		for name, fd := range s.Files {
			if ok && (fd < 3 || fd >= 3+strings.Count(names, ":")+1 || strings.Split(names, ":")[fd-3] != name) {
				t.Errorf("%s of %q: descriptor %d is %q", n, names, fd, name)
			}
		}
		if ok != (len(s.Files) > 0) || ok && len(s.Files) > len(strings.Split(names, ":")) {
			t.Errorf("%s of %q: %v, %v", n, names, s, ok)
		}
		if _, other := Inherited(8, func(k string) string { return env[k] }); other {
			t.Error("another process takes them")
		}
	})
}

func ends(t *testing.T) (conn, conn) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return conn{os.NewFile(uintptr(pair[0]), fmt.Sprint(pair[0]))}, conn{os.NewFile(uintptr(pair[1]), fmt.Sprint(pair[1]))}
}
