package intake

import (
	"bytes"
	"testing"

	"ctxfs/internal/importer"
	"ctxfs/internal/record"
)

// FuzzImport imports into a session that holds anything: the log gets a session, and a second import adds nothing.
func FuzzImport(f *testing.F) {
	log := `{"parentUuid":null,"type":"user","sessionId":"s","uuid":"u0","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"go"}}` + "\n"
	f.Add([]byte(`{"role":"user","content":"mine"}`+"\n"), []byte(""), []byte(log))
	f.Add([]byte(`{"id":"u0.from1","content":[1],"native":{"format":"claude-code","line":1,"lines":[-1,9]}}`+"\n"), []byte(`{"type":"x","native":{"format":"claude-code","line":-3}}`+"\n"), []byte(log+log))
	f.Add([]byte(`{"id":"u0","content":[],"native":{"format":"claude-code","line":1,"called_line":"x"}}`+"\n"), []byte("{}\n"), []byte(log))
	f.Fuzz(func(t *testing.T, messages, events, log []byte) {
		x := newShelf()
		s, _ := x.Make("a", "s")
		for name, lines := range map[string][]byte{Messages: messages, Events: events} {
			for line := range bytes.Lines(lines) {
				if record.Check(line) == nil && bytes.HasSuffix(line, []byte("\n")) {
					_ = s.Append(name, line)
				}
			}
		}
		before := x.sessions["s"].logs[Messages].String()
		if _, err := x.take("s", string(log), importer.ClaudeCode); err != nil {
			t.Skip(err)
		}
		if got := x.sessions["s"].logs[Messages].String(); got[:len(before)] != before {
			t.Error("what was there changed")
		}
		said := x.text()
		list, err := x.take("s", string(log), importer.ClaudeCode)
		if err != nil || x.text() != said {
			t.Errorf("a second import: %+v, %v: was\n%s\nis\n%s", list, err, said, x.text())
		}
	})
}
