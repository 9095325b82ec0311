package importer

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// otelNames are members of events that name something, or count: strings and objects in which nothing is that was said.
const otelNames = " run id status code from to agent coverage injection_id context_id assembly_id target injection_point missing_id severity" +
	" compaction_id scope summary_ref method trigger replacement_policy what format log "

// end writes the session's own events, a record each, behind its messages: who collects them sorts by time. Events that came with an
// import are the other program's, and are left out.
func (x *otel) end() error {
	if x.in.Events == nil {
		return nil
	}
	return eachLine(x.in.Events, "events", func(line []byte, n int) error {
		if len(bytes.TrimSpace(line)) == 0 {
			return nil
		}
		return x.event(parseObject(line), n)
	})
}

func (x *otel) event(e object, n int) error {
	kind := e.str("type")
	if e.str("source") != "ctxfs" || !strings.HasPrefix(kind, "ctxfs.") && !strings.HasPrefix(kind, "context.") {
		x.leave("events of other programs")
		return nil
	}
	r := otelRecord{Severity: 9, EventName: kind, Attrs: []otelAttr{}} // INFO
	data := e.obj("data")
	switch kind {
	case "ctxfs.run.tool_call":
		r.text("gen_ai.operation.name", "execute_tool")
		r.text("gen_ai.tool.name", data.str("name"))
	case "ctxfs.run.usage":
		tokensOf(data, "openai").attributes(&r) // which counts those that were cached among the input's, as a run does
	case "ctxfs.line.quarantined":
		r.Severity = 13 // WARN
	case "ctxfs.store.corrupt":
		r.Severity = 17 // ERROR
	}
	x.common(&r, e.str("time"))
	r.number("ctxfs.event", int64(n))
	r.text("cloudevents.event_id", e.str("id"))
	r.text("cloudevents.event_source", e.str("source"))
	r.data("ctxfs.data.", data)
	if x.in.Content {
		r.text("ctxfs.data", string(e.get("data")))
	}
	return x.write([]otelRecord{r})
}

// data adds what an event's data has of names and whole numbers.
func (r *otelRecord) data(prefix string, o object) {
	for _, m := range o {
		var s string
		named := strings.Contains(otelNames, " "+m.key+" ")
		if n, err := strconv.ParseInt(string(m.val), 10, 64); err == nil {
			text := strconv.FormatInt(n, 10)
			r.Attrs = append(r.Attrs, otelAttr{prefix + m.key, otelValue{Int: &text}})
		} else if named && json.Unmarshal(m.val, &s) == nil {
			r.text(prefix+m.key, s)
		} else if named {
			r.data(prefix+m.key+".", parseObject(m.val))
		}
	}
}
