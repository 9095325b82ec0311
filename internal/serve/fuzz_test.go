package serve

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ctxfs/internal/frames"
	"ctxfs/internal/session"

	"golang.org/x/sys/unix"
)

// FuzzConn lets a peer say anything: every request is ended by one frame, each frame is one JSON object with a type, and
// the connection ends.
func FuzzConn(f *testing.F) {
	for _, s := range []string{
		`{"op":"ping"}`, "\n\n", "\x00", `{"op":"send","id":"a","input":"x"}` + "\n" + `{"op":"cancel","id":"a"}`,
		`{"op":"serve"}` + "\n" + `{"op":"send","id":"a","scope":"temp","input":"x"}` + "\n" + `{"op":"done","run":"x"}`,
		`{"op":"resume","after":"1:2"}` + "\n" + `{"op":"resume","scope":"temp"}`, `{"op":"send","id":"a","scope":"shared","share":"s","input":"x"}`,
	} {
		f.Add([]byte(s))
	}
	store, err := session.Open(filepath.Join(f.TempDir(), "store"), session.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { store.Close() })
	f.Fuzz(func(t *testing.T, said []byte) {
		h := New(store, DefaultLimits())
		defer h.Close()
		ours, theirs := pair(t)
		_ = ours.SetDeadline(time.Now().Add(3 * time.Second))
		h.accept(theirs, Target{Name: "coder"})
		go func() { _, _ = ours.Write(said); _ = ours.CloseWrite() }()
		ends := 0
		in := bufio.NewReader(ours)
		for {
			line, err := in.ReadBytes('\n')
			if len(line) > 0 && err == nil {
				var r frames.Reply
				if json.Unmarshal(line, &r) != nil || r.Type == "" || r.ID == "" && r.Code == "" {
					t.Fatalf("%q: a frame: %q", said, line)
				}
				if r.Type == frames.Done || r.Type == frames.Pong {
					ends++
				}
				continue
			}
			if err != io.EOF && !bytes.Contains(said, []byte("follow")) {
				t.Fatalf("%q: %v", said, err)
			}
			break
		}
		if lines := bytes.Count(said, []byte{'\n'}) + 1; ends > lines {
			t.Fatalf("%q: %d requests at most, %d ends", said, lines, ends)
		}
	})
}

func pair(t *testing.T) (*net.UnixConn, *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*net.UnixConn
	for i, fd := range fds {
		file := os.NewFile(uintptr(fd), "pair")
		c, err := net.FileConn(file)
		file.Close()
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = c.(*net.UnixConn)
		t.Cleanup(func() { c.Close() })
	}
	return ends[0], ends[1]
}
