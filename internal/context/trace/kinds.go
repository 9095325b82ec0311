package trace

import (
	"path"
	"strings"
	"time"

	"ctxfs/internal/context/pack"
)

// contextKind gives the specification's word for a kind of the pack ("Context kinds").
func contextKind(kind string) string {
	switch kind {
	case "system":
		return "system_prompt"
	case "summary":
		return "thread_summary"
	case "facts":
		return "durable_memory"
	case "decisions", "todo", "imported":
		return "working_memory"
	case "refs":
		return "artifact_ref"
	case "child_result":
		return "peer_agent_message"
	case "recent_messages", "messages":
		return "session_history"
	case "recalled_messages":
		return "retrieval_result"
	case "pinned_ref":
		return "manual_note"
	case "tool_output_part":
		return "tool_result"
	}
	return "custom"
}

// mode gives a content_mode: text is not repeated in the records, they say where it stands.
func mode(kind string) string {
	switch kind {
	case "summary":
		return "summary"
	case "tool_output_part":
		return "tool_result_ref"
	case "refs":
		return "artifact_ref"
	case "error":
		return "opaque"
	}
	return "ref"
}

// trust says whose word an item is: what nobody vouched for has none.
func trust(kind, source string, a pack.Authored) string {
	authored := map[string]bool{"context/summary.md": a.Summary != nil, "context/facts.jsonl": a.Facts != nil, "context/decisions.jsonl": a.Decisions != nil,
		"context/todo.md": a.Todo != nil, "context/refs.jsonl": a.Refs != nil}
	switch kind {
	case "system", "pinned_ref":
		return "pinned"
	case "summary", "facts", "decisions", "todo", "refs":
		if authored[source] {
			return "agent"
		}
		return "derived"
	case "child_result", "imported":
		return "peer_agent"
	case "tool_output_part":
		return "tool_output"
	}
	return ""
}

func title(kind, source, rng string) string {
	if rng == "" {
		return kind + ": " + source
	}
	return kind + ": records " + rng
}

func mimeType(source string) string {
	switch path.Ext(source) {
	case ".jsonl":
		return "application/x-ndjson"
	case ".md":
		return "text/markdown"
	case ".json":
		return "application/json"
	}
	return "text/plain"
}

// omission gives a reason of the pack in the specification's words ("Omission reasons").
func omission(item, reason string) OmittedRef {
	switch reason {
	case "budget_limit", "low_relevance", "duplicate", "stale", "superseded_by_summary", "too_large", "not_visible_to_target":
		return OmittedRef{ItemRef: item, Reason: reason}
	}
	return OmittedRef{ItemRef: item, Reason: "custom", Detail: reason}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// isBlob tells whether a reference is a content id.
func isBlob(ref string) bool {
	return strings.HasPrefix(ref, "blake3-") || strings.HasPrefix(ref, "sha256-")
}
