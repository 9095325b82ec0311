package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"ctxfs/internal/swap"
)

// maxMeta bounds meta.json, in bytes with its '\n'.
const maxMeta = 1 << 20

// identity lists the fields of meta.json that say which session it is.
func (x *Session) identity() map[string]string {
	kind := "agent"
	if x.c.Model {
		kind = "model"
	}
	return map[string]string{kind: x.c.Agent, "session": x.Name(), "scope": string(x.c.Scope)}
}

// quoted writes a name as a JSON string.
func quoted(name string) json.RawMessage {
	data, _ := json.Marshal(name) // never fails for a string
	return data
}

// showMeta lays the identity over what is stored: a session that was renamed or copied tells its name of today.
func (x *Session) showMeta(data []byte) ([]byte, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("meta.json: %w", err)
	}
	if m == nil {
		return nil, refuse(Invalid, "meta.json is one JSON object")
	}
	for k, v := range x.identity() {
		m[k] = quoted(v)
	}
	return layout(m), nil
}

// checkMeta takes a JSON object whose identity fields, where it has them, are unchanged.
func checkMeta(x *Session, data []byte, _ Caller) ([]byte, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(data, &m); err != nil || m == nil {
		return nil, refuse(Invalid, "meta.json is one JSON object")
	}
	now, err := x.ReadControl("meta.json")
	if err != nil {
		return nil, err
	}
	var have map[string]json.RawMessage
	if err := json.Unmarshal(now, &have); err != nil {
		return nil, err
	}
	// An agent's session may name its model, and the other way round.
	for _, k := range slices.AppendSeq([]string{"id", "created_at", "created_by_uid"}, maps.Keys(x.identity())) {
		old, had := have[k]
		if v, ok := m[k]; ok && !sameJSON(v, old) {
			return nil, refuse(Invalid, "meta.json: %q says which session this is and cannot change", k)
		}
		if had {
			m[k] = old
		}
	}
	return layout(m), nil
}

func sameJSON(a, b json.RawMessage) bool {
	var ca, cb bytes.Buffer
	return json.Compact(&ca, a) == nil && json.Compact(&cb, b) == nil && bytes.Equal(ca.Bytes(), cb.Bytes())
}

// layout writes a member a line, each value on one: what is nested is not set in, since ten thousand levels of it would make
// gigabytes of a few kilobytes.
func layout(m map[string]json.RawMessage) []byte {
	b := []byte("{")
	for i, k := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, "\n  "...), bytes.TrimSuffix(swap.Line(k), []byte{'\n'})...)
		b = append(append(b, ": "...), bytes.TrimSuffix(swap.Line(m[k]), []byte{'\n'})...)
	}
	return append(b, "\n}\n"...)
}
