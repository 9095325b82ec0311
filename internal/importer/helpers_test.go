package importer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ctxfs/internal/record"
)

// memSink keeps what an import writes.
type memSink struct {
	messages, events [][]byte
	blobs            map[string]int // ref: bytes
}

func (m *memSink) Message(line []byte) error { m.messages = append(m.messages, line); return nil }
func (m *memSink) Event(line []byte) error   { m.events = append(m.events, line); return nil }

// Blob names data by a SHA-256 in place of BLAKE3: the standard library has no BLAKE3, and the importer only passes
// the reference on.
func (m *memSink) Blob(data []byte) (string, error) {
	sum := sha256.Sum256(data)
	ref := "blake3-" + hex.EncodeToString(sum[:])
	if m.blobs == nil {
		m.blobs = map[string]int{}
	}
	m.blobs[ref] = len(data)
	return ref, nil
}

func (m *memSink) log() []byte { return append(bytes.Join(m.messages, []byte{'\n'}), '\n') }

// shared gives the folder of real sessions, or skips the test.
func shared(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(root(t), "..", "shared", "data")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("SKIP: ../shared/data is not here")
	}
	return dir
}

func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = up
	}
}

// logs lists the logs under dir/sub.
func logs(t testing.TB, dir, pattern string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

// importFile imports one log, detected, and checks everything that holds for the import of a log that an agent wrote.
func importFile(t testing.TB, path string) (*memSink, Report) {
	t.Helper()
	sink, rep := importUnchecked(t, path)
	checkImport(t, sink, rep)
	for i, line := range sink.messages {
		if err := checkBlocks(line, sink); err != nil {
			t.Errorf("%s: message %d: %v: %.300s", path, i+1, err, line)
		}
	}
	return sink, rep
}

func importUnchecked(t testing.TB, path string) (*memSink, Report) {
	t.Helper()
	list := eachUnchecked(t, path)
	if len(list) != 1 {
		t.Fatalf("%s: %d sessions", path, len(list))
	}
	return list[0].sink, list[0].rep
}

// imported is one session of a file.
type imported struct {
	label string
	sink  *memSink
	rep   Report
}

// importEach imports all sessions of a file, as importFile does one.
func importEach(t testing.TB, path string) []imported {
	t.Helper()
	list := eachUnchecked(t, path)
	for _, s := range list {
		checkImport(t, s.sink, s.rep)
		for i, line := range s.sink.messages {
			if err := checkBlocks(line, s.sink); err != nil {
				t.Errorf("%s: message %d: %v: %.300s", path, i+1, err, line)
			}
		}
	}
	return list
}

func eachUnchecked(t testing.TB, path string) []imported {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Detect(data[:min(len(data), 256<<10)])
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var told int64
	list, err := importBytes(data, f, func(n int64) { told = n })
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if told != int64(len(data)) {
		t.Errorf("%s: progress ended at %d of %d bytes", path, told, len(data))
	}
	return list
}

func importBytes(data []byte, f Format, progress func(int64)) ([]imported, error) {
	var list []imported
	reps, err := ImportAll(bytes.NewReader(data), f, func(label string) (Sink, error) {
		list = append(list, imported{label: label, sink: &memSink{}})
		return list[len(list)-1].sink, nil
	}, progress)
	for i, rep := range reps {
		list[i].rep = rep
	}
	return list, err
}

// checkImport checks what holds for every import, whatever came in: the books balance, every line is a record, ids
// are unique, and a parent is a message before.
func checkImport(t testing.TB, sink *memSink, rep Report) {
	t.Helper()
	if err := rep.Check(); err != nil {
		t.Error(err)
	}
	if len(sink.messages) != rep.Messages || len(sink.events) != rep.Events {
		t.Errorf("the sink has %d messages, %d events; the report says %d, %d", len(sink.messages), len(sink.events), rep.Messages, rep.Events)
	}
	ids := map[string]bool{}
	for i, line := range sink.messages {
		if err := checkMessage(line, ids); err != nil {
			t.Errorf("message %d: %v: %.300s", i+1, err, line)
		}
	}
	for i, line := range sink.events {
		r, err := record.Parse(line, i+1, 0)
		if err != nil || record.Check(line) != nil || r.Type == "" || bytes.IndexByte(line, '\n') >= 0 {
			t.Errorf("event %d is not one: %v: %.300s", i+1, err, line)
		}
	}
}

func checkMessage(line []byte, ids map[string]bool) error {
	r, err := record.Parse(line, 1, 0)
	switch {
	case err != nil:
		return err
	case record.Check(line) != nil:
		return record.Check(line)
	case bytes.IndexByte(line, '\n') >= 0:
		return fmt.Errorf("holds a newline")
	case r.ID == "" || ids[r.ID]:
		return fmt.Errorf("id %q is empty or taken", r.ID)
	case r.Parent != "" && !ids[r.Parent]:
		return fmt.Errorf("parent %q is no message before it", r.Parent)
	case r.Role == "" || len(r.Blocks) == 0:
		return fmt.Errorf("no role or no content")
	}
	ids[r.ID] = true
	return nil
}

// checkBlocks compares what internal/record makes of a line with the types that stand in it.
func checkBlocks(line []byte, sink *memSink) error {
	r, err := record.Parse(line, 1, 0)
	if err != nil {
		return err
	}
	var m struct {
		Content []struct {
			Type   string
			Source struct{ Type, Ref string }
		}
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return err
	}
	if len(m.Content) != len(r.Blocks) {
		return fmt.Errorf("%d blocks written, %d read", len(m.Content), len(r.Blocks))
	}
	for i, b := range m.Content {
		want := kindOf(b.Type)
		if r.Blocks[i].Kind != want {
			return fmt.Errorf("block %d is a %s, read as kind %d", i, b.Type, r.Blocks[i].Kind)
		}
		if n, ok := sink.blobs[b.Source.Ref]; b.Source.Type == "ref" && (!ok || r.Blocks[i].Ref != b.Source.Ref || r.Blocks[i].Bytes != n) {
			return fmt.Errorf("picture %+v is not what was kept", r.Blocks[i])
		}
		if (r.Role == "tool") != (want == record.ToolResult) {
			return fmt.Errorf("a %s in a record of role %s", b.Type, r.Role)
		}
	}
	if strings.Contains(string(line), `_url":"data:`) || strings.Contains(string(line), `"type":"base64"`) {
		return fmt.Errorf("holds inline data")
	}
	return nil
}

func kindOf(typ string) record.BlockKind {
	switch typ {
	case "text":
		return record.Text
	case "thinking", "redacted_thinking":
		return record.Thinking
	case "tool_use", "server_tool_use":
		return record.ToolUse
	case "tool_result":
		return record.ToolResult
	case "image", "document":
		return record.Image
	}
	return record.Other
}
