package gc

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"ctxfs/internal/session"
)

// TestRenamesHideNothing: a session, or a file, that gets another name while what is alive is looked up is found by one of them. Else
// its bytes would go.
func TestRenamesHideNothing(t *testing.T) {
	const sessions, rounds = 4, 120
	f := newFixture(t)
	c := f.x.Container()
	for i := range sessions {
		x, err := c.Create(fmt.Sprint("a", i), session.Caller{UID: 1000, GID: 1000})
		must(t, err)
		log, err := x.Log(session.Messages)
		must(t, err)
		must(t, log.Commit(fmt.Appendf(nil, "{\"number\":%d,\"text\":\"%x\"}\n", i, rand.Uint64())))
		x.Release()
		_, err = x.Archive()
		must(t, err)
	}
	id := f.blob("named in a pinned file", 2*time.Hour)
	f.file(c.SessionsRel()+"/s/context/pinned/a", id.String(), time.Hour)
	dir := filepath.Join(f.store.Path(), c.SessionsRel())
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			for _, name := range []string{fmt.Sprintf("%s/%%s%d", dir, n%sessions), dir + "/s/context/pinned/%s"} {
				a, z := fmt.Sprintf(name, "a"), fmt.Sprintf(name, "z")
				must(t, os.Rename(a, z))
				time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
				must(t, os.Rename(z, a))
			}
		}
	}()
	left := 0
	for range rounds {
		look, err := session.Open(f.store.Path(), session.Options{ReadOnly: true})
		must(t, err)
		live, err := alive(look, owner, f.now)
		if err != nil {
			t.Logf("left for another time: %v", err)
			left++
		} else if len(live.extents) < sessions || !live.blobs[id.String()] {
			t.Errorf("%d of %d extents, %d blobs", len(live.extents), sessions, len(live.blobs))
		}
		must(t, look.Close())
	}
	close(stop)
	<-stopped
	if left > rounds/10 {
		t.Errorf("%d of %d times it gave up", left, rounds)
	}
}

// TestMovesHideNothing: a file that moves, while what is alive is looked up, to a folder that was looked at already is found there.
func TestMovesHideNothing(t *testing.T) {
	const rounds = 60
	f := newFixture(t)
	id := f.blob("named in a pinned file", 2*time.Hour)
	var files [2]string
	for i, agent := range []string{"a", "b"} {
		rel := "home/1000/agent/" + agent + "/session/s/context/pinned/x.ref"
		for n := range 20 {
			f.file(fmt.Sprintf("%s/%d", filepath.Dir(rel), n), "nothing", time.Hour)
		}
		files[i] = filepath.Join(f.store.Path(), rel)
	}
	f.file("home/1000/agent/a/session/s/context/pinned/x.ref", id.String(), time.Hour)
	took := 5 * time.Millisecond
	for n := range rounds {
		var moved sync.WaitGroup
		pause := time.Duration(rand.Int64N(int64(took)))
		moved.Go(func() {
			time.Sleep(pause)
			if err := os.Rename(files[n%2], files[1-n%2]); err != nil {
				t.Error(err)
			}
		})
		start := time.Now()
		live, err := alive(f.store, owner, f.now)
		took = min(time.Since(start), 20*time.Millisecond)
		must(t, err)
		if !live.blobs[id.String()] {
			t.Fatalf("round %d: the file was missed", n)
		}
		moved.Wait()
	}
}
