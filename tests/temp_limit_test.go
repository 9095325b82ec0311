package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A user has 64, of all agents together; another connection may have others of them.
func TestTempLimit(t *testing.T) {
	m := newCoder(t)
	c, other := m.client(), m.client()
	for i := range 64 {
		c.temp(m, fmt.Sprint("t", i), "x")
	}
	other.wantTypes("error EAGAIN, done error", "op", "send", "id", "m", "scope", "temp", "session", "more", "input", "x")
	if got := names(t, m.agent+"/temp"); len(got) != 64 {
		t.Errorf("%d", len(got))
	}
	c.conn.Close()
	gone(t, m.agent+"/temp")
	other.temp(m, "more", "x")
}

// One user fills the memory that there is for them: it is ENOSPC for them, by files and by sockets, and nothing to others.
func TestTempFull(t *testing.T) {
	if os.Getuid() != 0 {
		skip(t, "two users need root")
	}
	m := newCoder(t, "--allow-other")
	openPath(t, filepath.Dir(m.point))
	for _, dir := range []string{m.point + "/agent/coder.d"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := m.client()
	dir := c.temp(m, "t", "x")
	other := c.temp(m, "u", "x")
	big := message("user", strings.Repeat("x", 1<<20-100))
	var err error
	lines := 0
	for ; err == nil && lines < 300; lines++ {
		err = tryAdd(dir+"/messages.jsonl", big)
	}
	wants(t, "a file that fills the memory", err, syscall.ENOSPC)
	if lines < 200 {
		t.Errorf("it was full after %d MB", lines)
	}
	if st, err := os.Stat(dir + "/messages.jsonl"); err != nil || st.Size()%int64(len(big)) > 1000 {
		t.Errorf("half a line is in the log: %v, %v", st.Size(), err)
	}
	for err = nil; err == nil; { // the rest, in small pieces
		err = tryAdd(dir+"/messages.jsonl", big[:20]+big[len(big)-3:])
	}
	wants(t, "the last bytes", err, syscall.ENOSPC)
	c.wantTypes("error ENOSPC, done error", "op", "send", "id", "m", "scope", "temp", "session", "u", "input", strings.Repeat("y", 10000))
	wants(t, "a pinned file", os.WriteFile(other+"/context/pinned/p", make([]byte, 1<<20), 0o600), syscall.ENOSPC)

	eve := m.holdAs(bob, "coder")
	if out := eve.say(`{"op":"send","id":"m","scope":"temp","session":"t","input":"has room"}`); !strings.Contains(out, `"n":1`) {
		t.Errorf("another user: %s", out)
	}
	add(t, m.session("private")+"/messages.jsonl", message("user", "has room too"))
	eve.end()
	c.conn.Close()
	gone(t, dir)
	again := m.client().temp(m, "t", "x") + "/messages.jsonl"
	for range 400 { // what was open is closed by now
		if err = tryAdd(again, big); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("there is no room again: %v", err)
}
