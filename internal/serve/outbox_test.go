package serve

import (
	"strings"
	"testing"
	"time"
)

func testOutbox() (*outbox, chan bool) {
	urged := make(chan bool, 1)
	return newOutbox(Limits{QueueFrames: 3, QueueBytes: 10}, func() { urged <- true }), urged
}

func TestOutboxLimits(t *testing.T) {
	o, _ := testOutbox()
	for i, c := range []struct {
		frame string
		room  bool
	}{{"aaaa", true}, {"bbbb", true}, {"ccc", false}, {"cc", true}, {"", false}} {
		if got := o.push([]byte(c.frame)); got != c.room {
			t.Errorf("push %d: %v", i, got)
		}
	}
	for _, want := range []string{"aaaa", "bbbb", "cc"} {
		if b, ok := o.pop(); !ok || string(b) != want {
			t.Errorf("pop: %q %v, want %q", b, ok, want)
		}
	}
	if !o.push([]byte(strings.Repeat("x", 100))) {
		t.Error("an empty queue takes a frame of any size")
	}
	o.pop()
	o.push([]byte("last"))
	o.end()
	if b, ok := o.pop(); !ok || string(b) != "last" {
		t.Errorf("what waits at the end: %q %v", b, ok)
	}
	if b, ok := o.pop(); ok {
		t.Errorf("after the end: %q", b)
	}
	if !o.push([]byte("x")) || o.pushWait([]byte("x")) {
		t.Error("after the end nothing is taken, and nothing is owed")
	}
}

func TestOutboxWaits(t *testing.T) {
	o, _ := testOutbox()
	for range 3 {
		o.push([]byte("x"))
	}
	took := make(chan bool)
	go func() { took <- o.pushWait([]byte("later")) }()
	select {
	case <-took:
		t.Fatal("a full queue took a frame")
	case <-time.After(20 * time.Millisecond):
	}
	o.pop()
	if !<-took {
		t.Error("the frame was not taken when there was room")
	}
	go func() { took <- o.pushWait([]byte("never")) }()
	o.kill()
	if <-took {
		t.Error("a dead queue took a frame")
	}
}

// A peer that is dropped gets one last frame in the place of all that waits.
func TestOutboxDrop(t *testing.T) {
	o, urged := testOutbox()
	o.push([]byte("waits"))
	o.drop([]byte("late"))
	o.drop([]byte("again"))
	<-urged
	if b, ok := o.pop(); !ok || string(b) != "late" || !o.dropped() {
		t.Errorf("got %q %v", b, ok)
	}
	if b, ok := o.pop(); ok {
		t.Errorf("got %q after the last", b)
	}
}
