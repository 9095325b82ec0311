package pack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"ctxfs/internal/importer"
	"ctxfs/internal/quality/corpus"
)

// logSink gathers an import in memory; pictures leave their size only.
type logSink struct{ log bytes.Buffer }

func (s *logSink) Message(line []byte) error { s.log.Write(line); return s.log.WriteByte('\n') }
func (s *logSink) Event([]byte) error        { return nil }
func (s *logSink) Blob(data []byte) (string, error) {
	return fmt.Sprintf("blob of %d bytes", len(data)), nil
}

// sessions gives all real sessions beside the repository, in order of their names: agents' logs that ctxfs imports as it
// imports them, others as the lines or the messages that they hold, and conversations.
func sessions(t testing.TB) []corpus.Session {
	t.Helper()
	dir := corpus.Dir()
	if dir == "" {
		t.Skip("SKIP: ../shared/data is not here")
	}
	var out []corpus.Session
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Dir(path) == dir {
			return err
		}
		if name := filepath.Base(filepath.Dir(path)); name == "mem-locomo" || name == "mem-realmem" {
			return nil
		}
		data, err := os.ReadFile(path)
		if log := asLog(data); len(log) > 0 {
			name, _ := filepath.Rel(dir, path) // path is under dir
			out = append(out, corpus.Session{Name: name, Log: log})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	convs, err := corpus.LoCoMo(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range convs {
		out = append(out, c.Session)
	}
	histories, err := corpus.RealMem(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range histories {
		out = append(out, h.Session)
	}
	return out
}

// asLog makes a log of a file: imported, or its own lines, or the longest list of objects in a JSON document.
func asLog(data []byte) []byte {
	format, err := importer.Detect(data[:min(len(data), 256<<10)])
	if err == nil {
		var s logSink
		if _, err := importer.Import(bytes.NewReader(data), format, &s, nil); err == nil {
			return s.log.Bytes()
		}
	}
	var doc any
	if json.Unmarshal(data, &doc) == nil {
		var out bytes.Buffer
		for _, m := range longestList(doc) {
			line, _ := json.Marshal(m) // it was JSON before
			out.Write(append(line, '\n'))
		}
		return out.Bytes()
	}
	if bytes.IndexByte(data[:min(len(data), 4<<10)], 0) >= 0 {
		return nil // a data base
	}
	return data
}

// longestList finds the longest list of objects in v, the first of equals in depth-first order of a list.
func longestList(v any) []any {
	switch v := v.(type) {
	case []any:
		best := v
		if len(v) > 0 {
			if _, ok := v[0].(map[string]any); !ok {
				best = nil
			}
		}
		return best
	case map[string]any:
		var best []any
		for _, x := range v {
			if l := longestList(x); len(l) > len(best) {
				best = l
			}
		}
		return best
	}
	return nil
}
