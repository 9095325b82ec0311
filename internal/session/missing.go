package session

import (
	"bytes"
	"encoding/json"

	"ctxfs/internal/context/trace"
	"ctxfs/internal/swap"
)

// MissingFile is where agents write what they need and do not have, and what became of it.
const MissingFile = "context/missing.jsonl"

// checkMissing holds lines to Agent Context's missing_context. A line that names a missing_id which is there changes that
// record; its other members stay.
func checkMissing(x *Session, data []byte, _ Caller) ([]byte, error) {
	old, lines, err := x.grown(MissingFile, data)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, m := range mergeMissing(old) {
		known[m.MissingID] = true
	}
	out := bytes.NewBuffer(old)
	x.told = true
	for _, line := range lines {
		full, id, err := x.missingLine(line, known)
		if err != nil {
			return nil, err
		}
		known[id] = true
		out.Write(full)
	}
	return out.Bytes(), nil
}

// missingLine checks a line and adds what ctxfs knows of it: its id and its time.
func (x *Session) missingLine(line []byte, known map[string]bool) (full []byte, id string, err error) {
	var m trace.Missing
	if err := readLine(MissingFile, line, &m); err != nil {
		return nil, "", err
	}
	var raw map[string]json.RawMessage
	if err := readLine(MissingFile, line, &raw); err != nil {
		return nil, "", err
	}
	set := func(key, value string) { raw[key] = quoted(value) }
	if known[m.MissingID] {
		if m.Severity != "" {
			err = checkSeverity(m.Severity)
		}
		if err == nil && m.Status != "" {
			err = checkStatus(m.Status)
		}
		if raw["updated_at"] == nil {
			x.told = false
			set("updated_at", stamp(x.store.opt.Now().UTC()))
		}
		return swap.Line(raw), m.MissingID, err
	}
	if m.Question == "" {
		return nil, "", refuse(Invalid, "%s: a line needs a \"question\", or the missing_id of a record that is there", MissingFile)
	}
	if m.Severity == "" {
		m.Severity = "medium"
	}
	if m.Status == "" {
		m.Status = "open"
	}
	if m.Scope == "" {
		set("scope", "session")
	}
	set("severity", m.Severity)
	set("status", m.Status)
	if m.MissingID == "" {
		m.MissingID = trace.MissingID(x.Name(), m.Question)
		set("missing_id", m.MissingID)
	}
	if m.CreatedAt == "" {
		x.told = false
		set("created_at", stamp(x.store.opt.Now().UTC()))
	}
	if err := checkSeverity(m.Severity); err != nil {
		return nil, "", err
	}
	return swap.Line(raw), m.MissingID, checkStatus(m.Status)
}

func checkSeverity(s string) error {
	return oneOf(MissingFile, "severity", s, "info", "low", "medium", "high", "blocking")
}

func checkStatus(s string) error {
	return oneOf(MissingFile, "status", s, "open", "requested", "waiting", "resolved", "declined", "blocked", "expired")
}

// mergeMissing gives the records of a file of lines, in the order in which they came up, each as its last line left it.
func mergeMissing(data []byte) []trace.Missing {
	var out []trace.Missing
	at := map[string]int{}
	for _, line := range bytes.Split(data, []byte{'\n'}) {
		var m trace.Missing
		if len(line) == 0 || json.Unmarshal(line, &m) != nil || m.MissingID == "" {
			continue
		}
		i, ok := at[m.MissingID]
		if !ok {
			at[m.MissingID] = len(out)
			out = append(out, m)
			continue
		}
		created := out[i].CreatedAt
		_ = json.Unmarshal(line, &out[i]) // it was read a moment ago
		out[i].CreatedAt = created
	}
	return out
}
