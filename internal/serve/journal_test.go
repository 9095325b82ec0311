package serve

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// logText is a log as these tests write it.
type logText string

func (l logText) Size() (int64, error) { return int64(len(l)), nil }
func (l logText) ReadAt(p []byte, off int64) (int, error) {
	return strings.NewReader(string(l)).ReadAt(p, off)
}

// Lines come whole and with their places, whatever their length against the buffer's.
func TestEachLine(t *testing.T) {
	var log strings.Builder
	var want []string
	for i, n := range []int{1, 5, 64 << 10, 64<<10 - 1, 64<<10 + 1, 0, 3, 300 << 10, 1 << 20, 2} {
		line := fmt.Sprintf("%d%s\n", i, strings.Repeat("x", n))
		want = append(want, line)
		log.WriteString(line)
	}
	m := logText(log.String())
	for from := 0; from <= len(want); from++ {
		off := int64(len(strings.Join(want[:from], "")))
		i := from
		err := eachLine(m, off, int64(log.Len()), func(b []byte, at int64) error {
			if i >= len(want) || string(b) != want[i] || at != off {
				t.Fatalf("from %d: line %d is not as written (%d bytes at %d)", from, i, len(b), at)
			}
			i, off = i+1, off+int64(len(b))
			return nil
		})
		if err != nil || i != len(want) {
			t.Errorf("from %d: %d lines, %v", from, i, err)
		}
	}
}

// Ids are found in a log as it stands, those that others wrote too; the first message of an id counts.
func TestIDs(t *testing.T) {
	m := logText(`{"id":"a","role":"user","content":"by hand"}
{"id":"a","role":"user","content":"1","run":"r1"}
{"role":"tool","content":"x","run":"r1"}
{"id":"r1","role":"assistant","content":"2","run":"r1","parent_id":"a","status":"ok"}
{"id":"a","role":"user","content":"3","run":"r2"}
{"id":"b","role":"user","content":"\"run\":","run":""}
`)
	x := newIDs()
	check := func(n int, ids string) {
		t.Helper()
		if err := x.catchUp(m); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%d %d %s %d", len(x.byID), x.byID["a"].n, x.byID["a"].run, x.answers["r1"].n); x.n != n || got != ids || x.off != int64(len(m)) {
			t.Errorf("%d records, %s", x.n, got)
		}
	}
	check(6, "1 2 r1 4")
	m += `{"id":"c","role":"user","content":"4","run":"r3"}` + "\n"
	check(7, "2 2 r1 4")
	line, err := readLine(m, x.byID["a"].off, x.byID["a"].end)
	if err != nil || !bytes.Contains(line, []byte(`"content":"1"`)) {
		t.Errorf("the record: %s, %v", line, err)
	}
}

// BenchmarkIDs measures what the first send to a session costs after the daemon was started: its log is read for ids.
func BenchmarkIDs(b *testing.B) {
	m := logText(strings.Repeat(`{"role":"user","content":"`+strings.Repeat("x", 1000)+`"}`+"\n", 50000))
	b.SetBytes(int64(len(m)))
	for b.Loop() {
		if err := newIDs().catchUp(m); err != nil {
			b.Fatal(err)
		}
	}
}
