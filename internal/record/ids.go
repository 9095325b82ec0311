package record

// IDs are what a line says of where it belongs: correlation ids of runtimes (Agent Context, "External mappings"; OpenTelemetry
// GenAI), and native ids of the program that wrote it. Only what the line has is set.
type IDs struct {
	Session, Thread, Turn, Task, Run, Attempt, Step string

	// Evidence are references that the line gives for what it says ("evidence_refs"): messages:12, child:rev-1, blake3-...
	Evidence []string

	Model  string
	Format string // of an imported line: the log that it came from
	// Native are ids by the name that the line gives them, in its order: message_id, requestId, trace_id, uuid, ...
	Native []NativeID
}

// NativeID is an id under its own name.
type NativeID struct{ Name, Value string }

// ParseIDs reads the ids of a line. A line that is no object has none.
func ParseIDs(line []byte) IDs {
	var ids IDs
	var own room
	o, ok := objectOf(line, own[:0])
	if !ok {
		return ids
	}
	if m := o.get("model"); len(m) > 0 && m[0] == '"' {
		ids.Model = str(m)
	}
	refs := o.get("evidence_refs")
	if len(refs) == 0 || refs[0] != '[' {
		refs = []byte("[]")
	}
	elements(refs, func(val []byte) bool {
		if ref := idOf(val); ref != "" && len(ids.Evidence) < maxEvidence {
			ids.Evidence = append(ids.Evidence, ref)
		}
		return true
	})
	ids.read(o)
	for _, key := range []string{"native", "metadata", "correlation"} {
		var r room
		if part, ok := objectOf(o.get(key), r[:0]); ok {
			ids.read(part)
			if key == "native" {
				ids.Format = str(part.get("format"))
			}
		}
	}
	return ids
}

func (ids *IDs) read(o object) {
	for _, m := range o {
		value := idOf(m.val)
		if value == "" {
			continue
		}
		if field := ids.field(string(m.key)); field != nil {
			if *field == "" {
				*field = value
			}
			continue
		}
		if isNative(string(m.key)) {
			ids.Native = append(ids.Native, NativeID{string(m.key), value})
		}
	}
}

// field gives the correlation id that a key names.
func (ids *IDs) field(key string) *string {
	switch key {
	case "session_id", "sessionId", "conversation_id":
		return &ids.Session
	case "thread_id", "threadId":
		return &ids.Thread
	case "turn_id", "turnId":
		return &ids.Turn
	case "task_id", "taskId":
		return &ids.Task
	case "run", "run_id", "runId":
		return &ids.Run
	case "attempt", "attempt_id", "attemptId":
		return &ids.Attempt
	case "step", "step_id", "stepId":
		return &ids.Step
	}
	return nil
}

// isNative tells whether a key is an id of MCP, A2A, OpenTelemetry, a model API or a coding agent's log.
func isNative(key string) bool {
	switch key {
	case "server_id", "mcp_session_id", "resource_uri", "resource_template", "prompt_name", "root_uri", "jsonrpc_request_id",
		"agent_card_url", "context_id", "message_id", "part_id", "artifact_id", "skill_id",
		"trace_id", "span_id", "event_name", "system", "operation_name",
		"response_id", "prompt_cache_key", "tool_call_id", "request_id",
		"uuid", "parentUuid", "requestId", "messageId", "promptId", "call_id", "agentId", "line":
		return true
	}
	return false
}

// idOf gives a string or a whole number as text; anything else is no id.
func idOf(val []byte) string {
	if len(val) == 0 || len(val) > maxID {
		return ""
	}
	if val[0] == '"' {
		return str(val)
	}
	if val[0] >= '0' && val[0] <= '9' {
		return string(val)
	}
	return ""
}

// maxEvidence is how many references of one line are read.
const maxEvidence = 64

// maxID is the longest id, in bytes, that is kept: more is no id.
const maxID = 512
