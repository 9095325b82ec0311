//go:build linux && amd64

package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ctxfs/internal/beneath"
	"ctxfs/internal/cas"
	"ctxfs/internal/chunkstore"
	"ctxfs/internal/session"
)

// message gives a line of messages.jsonl that says who wrote it, as the how-manieth, and the checksum of that.
func message(writer string, n int, text string) string {
	content := fmt.Sprintf("%s %d %s", writer, n, text)
	line, _ := json.Marshal(map[string]any{"role": "user", "content": content, "sum": crc32.ChecksumIEEE([]byte(content))}) // always marshals
	return string(line) + "\n"
}

// prose gives words that hardly compress away.
func prose(r *rand.Rand, words int) string {
	var b strings.Builder
	for range words {
		fmt.Fprintf(&b, "%x ", r.Uint32())
	}
	return b.String()
}

// lines gives n messages in one piece.
func lines(writer string, n, words int) string {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	var b strings.Builder
	for i := range n {
		b.WriteString(message(writer, i, prose(r, words)))
	}
	return b.String()
}

const stored = "home/0/agent/coder/session"

// endless is a line whose end a crash took: it belongs to the log once that is used.
func endless() string { return message("ended", 6, "no end") }

// makeTemplate makes a store as a day of work and a crash leave it, and gives what each of its logs must show.
func makeTemplate(t testing.TB, dir string) map[string]string {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := session.Open(dir, session.Options{})
	must(err)
	c, err := s.Container("home/0/agent/coder")
	must(err)
	want := map[string]string{}
	for _, name := range []string{"torn", "ended", "cold", "half", "rests", "doomed", "pic", "bare"} {
		x, err := c.Create(name, session.Caller{})
		must(err)
		want[name] = lines(name, 6, 40)
		must(x.Append(session.Messages, []byte(want[name])))
		must(x.Append(session.Events, []byte("{\"type\":\"made\"}\n")))
	}
	give := func(name, file, data string) {
		x, err := c.Session(name)
		must(err)
		must(x.WriteControl(file, []byte(data), session.Caller{}))
	}
	give("rests", "context/gc.policy", "archive_after=1s\n")
	give("doomed", "context/gc.policy", "delete_after=1s\nkeep_messages=0\nkeep_events=0\n")
	for _, name := range []string{"cold", "half"} {
		x, err := c.Session(name)
		must(err)
		_, err = x.Archive()
		must(err)
	}
	want["pic"] += coldBlobs(t, s)
	x, err := c.Session("pic")
	must(err)
	must(x.Append(session.Messages, []byte(want["pic"][strings.LastIndexByte(want["pic"][:len(want["pic"])-1], '\n')+1:])))
	must(s.Close())

	// What a crash leaves.
	in := func(rel string) string { return filepath.Join(dir, stored, rel) }
	must(writeTo(in("torn/messages.jsonl"), `{"role":"user","content":"half a li`, os.O_APPEND|os.O_WRONLY))
	must(writeTo(in("ended/messages.jsonl"), strings.TrimSuffix(endless(), "\n"), os.O_APPEND|os.O_WRONLY))
	must(writeTo(in("half/messages.jsonl"), want["half"], os.O_CREATE|os.O_WRONLY))
	must(os.Remove(in("bare/messages.jsonl")))
	want["bare"] = ""
	must(writeTo(in("torn/.ctxfs-tmp-0123456789abcdef"), "x", os.O_CREATE|os.O_WRONLY))
	must(os.MkdirAll(filepath.Join(dir, "home/0/.ctxfs/trash/coder.x.1"), 0o700))
	must(writeTo(filepath.Join(dir, "home/0/.ctxfs/trash/coder.x.1/messages.jsonl"), "{}\n", os.O_CREATE|os.O_WRONLY))
	old := time.Now().Add(-2 * time.Hour)
	must(filepath.Walk(dir, func(p string, _ os.FileInfo, err error) error { return errors.Join(err, os.Chtimes(p, old, old)) }))
	return want
}

// coldBlobs puts blobs into the cold store, of which one is named by the record that it gives.
func coldBlobs(t testing.TB, s *session.Store) string {
	t.Helper()
	opt := chunkstore.Options{Owner: beneath.Owner{Chown: true}, Tuning: chunkstore.Tuning{Frame: 64 << 10}, Now: func() time.Time { return time.Now().Add(-3 * time.Hour) }}
	cold, err := session.OpenCold(s.Dir(), "home/0", opt)
	if err != nil {
		t.Fatal(err)
	}
	defer cold.Close()
	r := rand.New(rand.NewPCG(3, 3))
	var id cas.ID
	for range 30 {
		if id, err = cold.Put([]byte(prose(r, 1000))); err != nil {
			t.Fatal(err)
		}
	}
	if err := cold.Update(func(tx *chunkstore.Tx) error { return tx.Seal() }); err != nil {
		t.Fatal(err)
	}
	return `{"role":"user","content":[{"type":"image","source":{"type":"blob","ref":"` + id.String() + `"}}]}` + "\n"
}
