package opencode

import (
	"encoding/json"
	"testing"
)

// FuzzMessage exports a message whose data are anything: the export is JSON, or an error.
func FuzzMessage(f *testing.F) {
	f.Add("m", `{"role":"user"}`, `{"type":"text"}`)
	f.Add("", `{}`, ` { } `)
	f.Add("\"", `[1]`, `{"state":1}`)
	f.Fuzz(func(t *testing.T, id, data, more string) {
		m := message{id: id, session: "s", data: json.RawMessage(data), parts: []part{{id, json.RawMessage(more)}}}
		m.complete()
		if doc, err := m.export(); err == nil && !json.Valid(doc) {
			t.Errorf("%s", doc)
		}
	})
}
