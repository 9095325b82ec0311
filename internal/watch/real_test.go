package watch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ctxfs/internal/importer"
)

// logsOf lists the samples of the formats that are followed, and the real logs, if they are here.
func logsOf(t *testing.T) []string {
	t.Helper()
	root := filepath.Join("..", "..")
	var list []string
	for _, pattern := range []string{"samples/claude-code.jsonl", "samples/codex.jsonl", "samples/copilot-cli.jsonl", "samples/pi.jsonl",
		"../shared/data/claude-code/*/*.jsonl", "../shared/data/codex/*/*.jsonl", "../shared/data/copilot-cli/*/*.jsonl"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, found...)
	}
	if len(list) <= 4 {
		t.Log("SKIP: ../shared/data is not here: only the samples are followed")
	}
	var some []string
	for i, path := range list {
		if i < 4 || i%3 == 0 && !(testing.Short() && i%5 > 0) { // of the real ones, some
			some = append(some, path)
		}
	}
	return some
}

func readLog(t *testing.T, path string) ([]byte, importer.Format) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	format, err := importer.Detect(data[:min(len(data), 256<<10)])
	if err != nil {
		t.Fatal(err)
	}
	return data, format
}

// TestPieces has logs grow by pieces cut anywhere, through watches that are killed at their appends and started again: the
// session is, byte for byte, what an import of the finished log makes.
func TestPieces(t *testing.T) {
	for i, path := range logsOf(t) {
		data, format := readLog(t, path)
		data = append(bytes.TrimSuffix(data, []byte("\n")), '\n') // the last line counts when it is whole
		want := imported(t, data, format)
		if i%2 == 1 {
			data = append(data, "half a li"...)
		}
		rnd := rand.New(rand.NewPCG(uint64(i), 7))
		w := newWorld(t)
		w.quiet = time.Hour
		x := w.watcher()
		kills := 0
		for at := 0; at < len(data); {
			at += 1 + rnd.IntN(1+len(data)/4)
			w.write("p/log.jsonl", string(data[:min(at, len(data))]))
			w.store.fail, w.store.torn = rnd.IntN(4), rnd.IntN(2) == 0
			for _, log := range logsIn(x) {
				for x.step(log) != nil {
					kills++
					x = w.watcher()
				}
			}
			if rnd.IntN(4) == 0 {
				x = w.watcher()
			}
		}
		w.store.fail = 0
		if err := x.Once(); err != nil {
			t.Fatal(err)
		}
		got := w.store.sessions[string(format)+"/log"]
		if got == nil || len(w.store.sessions) != 1 {
			t.Fatalf("%s: the sessions are %v", path, w.store.sessions)
		}
		for _, log := range []string{Messages, Events} {
			if !bytes.Equal(got.logs[log].Bytes(), want.logs[log].Bytes()) {
				t.Errorf("%s, killed %d times: %s is not what an import makes: %s", path, kills, log, differs(got.logs[log].Bytes(), want.logs[log].Bytes()))
			}
		}
		if len(got.blobs) != len(want.blobs) {
			t.Errorf("%s: %d pictures, want %d", path, len(got.blobs), len(want.blobs))
		}
	}
}

func imported(t *testing.T, data []byte, format importer.Format) *memSession {
	t.Helper()
	s, err := newMemStore().Make("a", "s")
	if err != nil {
		t.Fatal(err)
	}
	m := s.(*memSession)
	if _, err := importer.Import(bytes.NewReader(data), format, importing{m}, nil); err != nil {
		t.Fatal(err)
	}
	return m
}

// differs shows the first line that does.
func differs(got, want []byte) string {
	g, w := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range min(len(g), len(w)) {
		if !bytes.Equal(g[i], w[i]) {
			at := 0
			for at < min(len(g[i]), len(w[i])) && g[i][at] == w[i][at] {
				at++
			}
			return fmt.Sprintf("line %d from byte %d:\n got %.200s\nwant %.200s", i+1, at, g[i][max(0, at-60):], w[i][max(0, at-60):])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// TestStarts holds what the following rests on: messages come in the order of the lines that they start at.
func TestStarts(t *testing.T) {
	for _, path := range logsOf(t) {
		data, format := readLog(t, path)
		last := 0
		for line := range bytes.Lines(imported(t, data, format).logs[Messages].Bytes()) {
			var r struct{ Native struct{ Line int } }
			if err := json.Unmarshal(line, &r); err != nil || r.Native.Line < max(last, 1) {
				t.Fatalf("%s: a message of line %d behind one of line %d", path, r.Native.Line, last)
			}
			last = r.Native.Line
		}
	}
}
