package importer

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// otel writes log records of OpenTelemetry as a collector's otlpjsonfile receiver reads them (OTLP/JSON, a LogsData object a line),
// with the attributes of the semantic conventions for generative AI. What was said is in them only when it is asked for
// (Export.Content), as the conventions have it.
type otel struct {
	*exporter
	tools map[string]string // names of calls by id
}

// otelValue is an AnyValue of OTLP. Whole numbers are strings there (ProtoJSON).
type otelValue struct {
	String *string `json:"stringValue,omitempty"`
	Int    *string `json:"intValue,omitempty"`
	Bool   *bool   `json:"boolValue,omitempty"`
}

type otelAttr struct {
	Key   string    `json:"key"`
	Value otelValue `json:"value"`
}

// otelRecord is a LogRecord of OTLP.
type otelRecord struct {
	Time      string     `json:"timeUnixNano,omitempty"`
	Severity  int        `json:"severityNumber"`
	Attrs     []otelAttr `json:"attributes"`
	EventName string     `json:"eventName"`
}

func (r *otelRecord) text(key, value string) {
	if value != "" {
		r.Attrs = append(r.Attrs, otelAttr{key, otelValue{String: &value}})
	}
}

func (r *otelRecord) number(key string, n int64) {
	if n > 0 {
		text := strconv.FormatInt(n, 10)
		r.Attrs = append(r.Attrs, otelAttr{key, otelValue{Int: &text}})
	}
}

func (r *otelRecord) truth(key string, b bool) {
	if b {
		r.Attrs = append(r.Attrs, otelAttr{key, otelValue{Bool: &b}})
	}
}

func (x *otel) begin() error { x.tools = map[string]string{}; return nil }

// message writes a record for what was said, and one for each result of a tool.
func (x *otel) message(s *utterance) error {
	x.rep.Messages++
	var parts []otelPart
	var records []otelRecord
	for _, raw := range s.content {
		b := parseObject(raw)
		if b.str("type") == "tool_result" {
			records = append(records, x.result(s, b))
			continue
		}
		p := partOf(b)
		if p.Type == "tool_call" {
			x.tools[p.ID] = p.Name
		}
		parts = append(parts, p)
	}
	if len(parts) > 0 {
		records = append([]otelRecord{x.said(s, parts)}, records...)
	}
	return x.write(records)
}

func (x *otel) write(records []otelRecord) error {
	line, err := json.Marshal(otelLogs(records))
	if err != nil {
		return err
	}
	return x.put(append(line, '\n'))
}

// record begins one of a message.
func (x *otel) record(s *utterance, event, operation string) otelRecord {
	r := otelRecord{Severity: 9, EventName: event, Attrs: []otelAttr{}} // INFO
	r.text("gen_ai.operation.name", operation)
	r.text("gen_ai.provider.name", otelProvider(s.native.str("format"), s.model))
	x.common(&r, s.created)
	r.number("ctxfs.record", int64(s.n))
	r.truth("ctxfs.sidechain", s.sidechain)
	return r
}

// common adds what all records have.
func (x *otel) common(r *otelRecord, created string) {
	if at, err := time.Parse(time.RFC3339Nano, created); err == nil {
		r.Time = strconv.FormatInt(at.UnixNano(), 10)
	}
	r.text("gen_ai.conversation.id", x.in.SessionID)
	agent, _, _ := strings.Cut(x.in.Name, "/")
	r.text("gen_ai.agent.name", agent)
}

// said is the record of a message: of the assistant's, which an inference made, the one that the conventions name.
func (x *otel) said(s *utterance, parts []otelPart) otelRecord {
	key := "gen_ai.input.messages"
	var r otelRecord
	if s.role == "assistant" {
		key = "gen_ai.output.messages"
		r = x.record(s, "gen_ai.client.inference.operation.details", "chat")
		r.text("gen_ai.request.model", s.model)
		r.text("gen_ai.response.model", s.model)
		r.text("gen_ai.response.id", firstSet(s.native.str("message_id"), s.native.str("response_id")))
		tokensOf(parseObject(s.usage), otelProvider(s.native.str("format"), s.model)).attributes(&r)
	} else {
		r = x.record(s, "ctxfs.message", "")
	}
	r.text("ctxfs.role", s.role)
	if x.in.Content {
		text, err := json.Marshal([]otelMessage{{Role: s.role, Parts: parts}})
		if err == nil { // parts are made of strings and of JSON that was parsed
			r.text(key, string(text))
		}
	}
	return r
}

// result is the record of what a tool gave.
func (x *otel) result(s *utterance, b object) otelRecord {
	r := x.record(s, "ctxfs.tool.result", "execute_tool")
	id := b.str("tool_use_id")
	r.text("gen_ai.tool.name", x.tools[id])
	r.text("gen_ai.tool.call.id", id)
	if b.truth("is_error") {
		r.Severity = 17 // ERROR
		r.text("error.type", "_OTHER")
	}
	if x.in.Content {
		r.text("gen_ai.tool.call.result", string(b.get("content")))
	}
	return r
}
