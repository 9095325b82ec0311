package posix

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// What programs do that open a control file to append, as with "a+": they read what is there, cut it, and go on.
func TestControlFileOpenToAppend(t *testing.T) {
	m := newMount(t)
	_, pinned := m.room()
	facts := filepath.Dir(pinned) + "/facts.jsonl"
	must(t, os.WriteFile(facts, []byte("{\"a\":1}\n"), 0o644))
	play := func(how int, steps func(fd int)) {
		fd, err := unix.Open(facts, how, 0)
		must(t, err)
		defer unix.Close(fd)
		steps(fd)
	}
	shows := func(what string, fd int, want string) {
		t.Helper()
		buf := make([]byte, 100)
		n, err := unix.Pread(fd, buf, 0)
		if err != nil || string(buf[:n]) != want {
			t.Errorf("%s: %q, %v, want %q", what, buf[:n], err, want)
		}
	}
	write := func(fd int, text string) {
		t.Helper()
		_, err := unix.Write(fd, []byte(text))
		must(t, err)
	}
	play(unix.O_RDWR|unix.O_APPEND, func(fd int) {
		shows("opened to append", fd, "{\"a\":1}\n")
		write(fd, "{\"b\":")
		shows("with half a line", fd, "{\"a\":1}\n{\"b\":")
		if end, err := unix.Seek(fd, 0, unix.SEEK_END); err != nil || end != 13 {
			t.Errorf("its end is %d, %v", end, err)
		}
		write(fd, "2}\n")
		shows("with a line", fd, "{\"a\":1}\n{\"b\":2}\n")
		must(t, unix.Ftruncate(fd, 8))
		shows("cut", fd, "{\"a\":1}\n")
		write(fd, "{\"c\":3}\n")
	})
	play(unix.O_RDONLY, func(fd int) { shows("afterwards", fd, "{\"a\":1}\n{\"c\":3}\n") })
	play(unix.O_WRONLY|unix.O_APPEND|unix.O_TRUNC, func(fd int) {
		write(fd, "{\"d\":")
		var st unix.Stat_t
		must(t, unix.Stat(facts, &st)) // from here on the kernel believes that the end is where the old content ends
		write(fd, "4}\n")
	})
	play(unix.O_RDONLY, func(fd int) { shows("emptied and appended to", fd, "{\"d\":4}\n") })
}
