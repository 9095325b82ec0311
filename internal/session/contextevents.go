package session

import (
	"bytes"
	"encoding/json"

	"ctxfs/internal/context/trace"
)

// tell writes events of what came to a file that only grows (Agent Context, "Event classes"): the change itself is done.
func (x *Session) tell(name string, old, now []byte) {
	if name == Injections {
		for _, line := range bytes.Split(bytes.TrimPrefix(now, old), []byte{'\n'}) {
			var inj trace.Injection
			if len(line) > 0 && json.Unmarshal(line, &inj) == nil {
				_ = x.Event("context.injection.applied", map[string]any{"injection_id": inj.InjectionID, "context_id": inj.ContextID,
					"assembly_id": inj.AssemblyID, "target": inj.Target, "injection_point": inj.Point}) // no hash: an event would keep the bytes for ever
			}
		}
		return
	}
	before := map[string]string{}
	for _, m := range mergeMissing(old) {
		before[m.MissingID] = m.Status
	}
	for _, m := range mergeMissing(now) {
		was, had := before[m.MissingID]
		data := map[string]any{"missing_id": m.MissingID, "severity": m.Severity, "status": m.Status}
		if !had {
			_ = x.Event("context.missing.detected", data)
		}
		if was == m.Status {
			continue
		}
		switch m.Status {
		case "requested", "waiting":
			_ = x.Event("context.missing.requested", data)
		case "resolved":
			_ = x.Event("context.missing.resolved", data)
		}
	}
}
