package posix

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// What is stored to a shared mapping of a log changes history for nobody: not in the file, and not in what the kernel keeps of it. That
// goes for plain logs and for archived ones.
func TestStoresToAMappedLog(t *testing.T) {
	m := newMount(t)
	_, pinned := m.room()
	session := filepath.Dir(filepath.Dir(pinned))
	log := session + "/messages.jsonl"
	var want []byte
	add := func() {
		line := []byte("{\"role\":\"user\",\"content\":\"hello\"}\n")
		must(t, openWrite(log, unix.O_WRONLY|unix.O_APPEND, string(line)))
		want = append(want, line...)
	}
	add()
	for _, kind := range []string{"plain", "archived", "archived, and appended to"} {
		t.Run(kind, func(t *testing.T) {
			if kind == "archived" {
				if out, err := exec.Command(program, "session", "archive", session).CombinedOutput(); err != nil {
					t.Fatalf("archive: %v\n%s", err, out)
				}
			}
			reader, err := os.Open(log)
			must(t, err)
			if _, err := os.OpenFile(log, os.O_RDWR|os.O_APPEND, 0); !errors.Is(err, unix.EBUSY) {
				t.Errorf("open to read and write beside a reader: %v, want EBUSY", err)
			}
			must(t, reader.Close())
			f, err := os.OpenFile(log, os.O_RDWR|os.O_APPEND, 0)
			must(t, err)
			defer f.Close()
			data, err := unix.Mmap(int(f.Fd()), 0, len(want), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			must(t, err)
			if !bytes.Equal(data, want) {
				t.Errorf("mapped: %q", data)
			}
			for range 3 {
				copy(data[20:], "EVIL")
				sees(t, log, want)
			}
			if err := unix.Msync(data, unix.MS_SYNC); err != nil && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EIO) {
				t.Errorf("msync: %v", err)
			}
			copy(data[10:], "EVIL")
			must(t, unix.Munmap(data))
			sees(t, log, want)
			_ = f.Close() // EIO: a store was refused, and this is how who made it hears of it
			for range 3 {
				sees(t, log, want)
			}
			add()
			sees(t, log, want)
		})
	}
}

// sees fails the test where a reader sees something else. EIO is what a reader can get whose read the kernel begins with writing back
// what is in the mapping.
func sees(t *testing.T, log string, want []byte) {
	t.Helper()
	for range 10 {
		got, err := os.ReadFile(log)
		if errors.Is(err, unix.EIO) {
			continue
		}
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v, %q", err, got)
		}
		return
	}
	t.Error("EIO again and again")
}
