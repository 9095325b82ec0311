package mounts

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// TestProcess holds what a status may call its process: a number, of a process of the user's.
func TestProcess(t *testing.T) {
	own := strconv.Itoa(os.Getpid())
	for _, said := range []string{"", "0", "-1", "1x", "+" + own, "0" + own, " " + own, "../../tmp/x", own + "/../1", "self", "99999999999999999999", "2147483647"} {
		if pid, err := (Mount{UID: os.Getuid()}).Process(said); !errors.Is(err, ErrProcess) || pid != 0 {
			t.Errorf("%q: %d, %v", said, pid, err)
		}
	}
	for _, uid := range []int{os.Getuid() + 1, nobody} {
		if pid, err := (Mount{UID: uid}).Process(own); !errors.Is(err, ErrProcess) || pid != 0 {
			t.Errorf("user %d's: %d, %v", uid, pid, err)
		}
	}
	if pid, err := (Mount{UID: os.Getuid()}).Process(own); err != nil || pid != os.Getpid() {
		t.Errorf("%d, %v", pid, err)
	}
}

func TestRealUID(t *testing.T) {
	for text, want := range map[string]int{
		"Name:\tctxfs\nUid:\t1001\t1001\t1001\t1001\nGid:\t0\t0\t0\t0\n": 1001,
		"Name:\tctxfs\nUid:\t0\t0\t0\t1001\n":                            0, // works on a file of the user's
		"Name:\tsudo\nUid:\t1001\t0\t0\t0\n":                             nobody,
		"Name:\tx\nUid:\t1001\t1001\t0\t1001\n":                          nobody,
		"Name:\tx\nUid:\t-1\t-1\t-1\t-1\n":                               nobody,
		"Name:\tUid:\t0\t0\t0\t0\nUid:\t7\t7\t7\t7\n":                    7,
		"": nobody, "\nUid:\n": nobody,
	} {
		if got := realUID([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// TestQuote holds what is shown for a shell: bash takes it for the one word that it was.
func TestQuote(t *testing.T) {
	for word, want := range map[string]string{
		"/ctx": "/ctx", "/home/a-b_c.d/ctx@2:1+x,y=z%": "/home/a-b_c.d/ctx@2:1+x,y=z%", "": "''", "/a b": "'/a b'", "/a$(touch x) b": "'/a$(touch x) b'",
		"/it's": `'/it'\''s'`, "~": "'~'", "a;b": "'a;b'", "/é/日": "'/é/日'", "/a\nb": `$'/a\012b'`, "/\x1b]0;x\a'\\": `$'/\033]0;x\007\'\\'`,
		"/\u202ex": `$'/\342\200\256x'`, "/\xff": `$'/\377'`, "/\u009b1": `$'/\302\2331'`,
	} {
		if got := Quote(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}

func FuzzQuote(f *testing.F) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		f.Skip("SKIP: no bash")
	}
	f.Add("/a$(touch x) 'b'\n\\\x1b")
	f.Add("-n $x `y` \"z\" !!")
	f.Fuzz(func(t *testing.T, word string) {
		for i := range word {
			if word[i] == 0 {
				return // no path has one
			}
		}
		cmd := exec.Command(bash, "-c", "printf %s/ "+Quote(word))
		cmd.Env = []string{"LC_ALL=C"}
		if out, err := cmd.Output(); err != nil || string(out) != word+"/" {
			t.Errorf("%q: %s gives %q, %v", word, Quote(word), out, err)
		}
	})
}

func TestAsOwner(t *testing.T) {
	if got := (Mount{UID: os.Geteuid()}).AsOwner(); got != "" {
		t.Errorf("the caller: %q", got)
	}
	if os.Geteuid() != 0 {
		return
	}
	const none = 4000000000 // has no account
	if got, want := (Mount{UID: none}).AsOwner(), fmt.Sprintf("setsid -w setpriv --reuid=%d --regid=%d --clear-groups -- ", uint(none), uint(none)); got != want {
		t.Errorf("no account: %q, want %q", got, want)
	}
	if got := FreeCommand("/nothing here"); got != "ctxfs umount --lazy '/nothing here'" {
		t.Error(got)
	}
}
