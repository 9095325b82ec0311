package trace

import (
	"fmt"
	"strconv"
	"strings"

	"ctxfs/internal/context/pack"
	"ctxfs/internal/record"
	"ctxfs/internal/swap"
)

// SourceID names a source of a session: a file ("" or "whole"), records of the log ("12-18"), or one ("record 12").
func SourceID(session, uri, selector string) string { return id("source", session, uri, selector) }

func (b *builder) sourceID(uri, selector string) string {
	return SourceID(b.in.Session.ID, uri, selector)
}

// rangeSource is where an item of the pack comes from: a file, or a range of records of the log. Its digest is that of pack.json.
// digest_of says of what it is when not of the bytes that uri and selectors name.
func (b *builder) rangeSource(source, rng string, hash pack.Digest, path string) Source {
	s := Source{SourceID: b.sourceID(source, rng), URI: source, Kind: sourceKind(source), Digest: hash.Value(), Authority: authority(source, b.in.Input.Authored),
		RetrievedAt: b.in.Created}
	if source != messages || rng == "" {
		if derived(source) && s.Authority == "derived" {
			s.Provenance = b.logSource()
		}
		switch {
		case hash.AsOf != "":
			s.Metadata = map[string]any{"digest_of": fmt.Sprintf("the file as records 1-%d make it", hash.Records)}
		case path != "" && path != source:
			s.Metadata = map[string]any{"path": path, "digest_of": "the bytes at metadata.path"}
		}
		return s
	}
	lines, block, isBlock := strings.Cut(rng, ".")
	r, err := swap.ParseRange(lines)
	if err != nil {
		return s
	}
	s.Selector = &Selector{Type: "line_range", Start: ptr(r.A), End: ptr(r.B)}
	// RFC 5147 counts the places between lines, from 0.
	s.Selectors = []Selector{{Type: "FragmentSelector", ConformsTo: "http://tools.ietf.org/rfc/rfc5147", Value: fmt.Sprintf("line=%d,%d", r.A-1, r.B)}}
	s.Metadata = map[string]any{"path": path}
	if hash.Tree != "" {
		s.Metadata["digest_of"] = "the lines, as a hash tree: see docs/formats.md"
	}
	if isBlock {
		s.Selector = &Selector{Type: "message_part", Value: lines + "." + block}
		s.Metadata["digest_of"] = "the text of the block"
	}
	return s
}

// recordSource is one record.
func (b *builder) recordSource(r *record.Record, raw []byte, ids *record.IDs) Source {
	n := strconv.Itoa(r.N)
	s := Source{SourceID: b.sourceID(messages, "record "+n), URI: messages, Kind: "session_log", Digest: swap.Sum(raw).String(), Authority: "raw_history",
		Selector:    &Selector{Type: "line_range", Start: ptr(r.N), End: ptr(r.N)},
		Selectors:   []Selector{{Type: "FragmentSelector", ConformsTo: "http://tools.ietf.org/rfc/rfc5147", Value: fmt.Sprintf("line=%d,%d", r.N-1, r.N)}, bytesOf(r.Off, r.Off+int64(r.Len))},
		RetrievedAt: b.in.Created, External: b.external(r, ids)}
	if !r.Time.IsZero() {
		s.ModifiedAt = stamp(r.Time)
	}
	return s
}

func bytesOf(from, to int64) Selector {
	return Selector{Type: "DataPositionSelector", Start: &from, End: &to}
}

func ptr(n int) *int64 { v := int64(n); return &v }

// external keeps the native ids of a record, by the system that they are of (specification, "External mappings").
func (b *builder) external(r *record.Record, ids *record.IDs) map[string]any {
	out := map[string]any{}
	put := func(system, name, value string) {
		if value == "" {
			return
		}
		m, _ := out[system].(map[string]string)
		if m == nil {
			m = map[string]string{}
			out[system] = m
		}
		m[name] = value
	}
	put("log", "id", r.ID)
	put("log", "parent_id", r.Parent)
	put("log", "format", ids.Format)
	put("model_api", "model", ids.Model)
	for _, x := range ids.Native {
		put(systemOf(x.Name), x.Name, x.Value)
	}
	for _, c := range r.Calls() {
		put("model_api", "tool_call_id", c)
	}
	for _, c := range r.Results() {
		put("model_api", "tool_call_id", c)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func systemOf(name string) string {
	switch name {
	case "server_id", "mcp_session_id", "resource_uri", "resource_template", "prompt_name", "root_uri", "jsonrpc_request_id":
		return "mcp"
	case "agent_card_url", "context_id", "part_id", "artifact_id", "skill_id":
		return "a2a"
	case "trace_id", "span_id", "event_name", "system", "operation_name":
		return "opentelemetry"
	case "response_id", "message_id", "messageId", "prompt_cache_key", "tool_call_id", "request_id", "requestId", "call_id":
		return "model_api"
	}
	return "log"
}

// inputSource is something that the pack is a function of.
func (b *builder) inputSource(in pack.Source) Source {
	if in.Source == messages {
		s := b.rangeSource(messages, fmt.Sprintf("1-%d", in.Records), in.Digest, messages)
		s.SourceID = b.logSource()[0]
		if in.Records == 0 {
			s.Selector, s.Selectors = nil, nil
		} else {
			s.Selectors = append(s.Selectors, bytesOf(0, in.Bytes))
		}
		return s
	}
	uri, kind := in.Source, sourceKind(in.Source)
	if in.Source == "query" {
		uri, kind = b.in.File, "query"
	}
	s := Source{SourceID: b.sourceID(in.Source, "whole"), URI: uri, Kind: kind, Digest: in.Value(), Authority: "authored", RetrievedAt: b.in.Created}
	if kind == "query" {
		s.Metadata = map[string]any{"digest_of": "the query"}
	} else {
		s.Selectors = []Selector{bytesOf(0, in.Bytes)}
	}
	return s
}

// logSource names the log, as far as the pack read it.
func (b *builder) logSource() []string { return []string{b.sourceID(messages, "whole")} }

func sourceKind(source string) string {
	switch {
	case source == messages:
		return "session_log"
	case strings.HasPrefix(source, "context/pinned/"):
		return "pinned_file"
	case strings.HasPrefix(source, "context/child/"):
		return "child_result"
	case strings.HasPrefix(source, "context/imported/"):
		return "imported_bundle"
	case derived(source):
		return "derived_file"
	}
	return "file"
}

func derived(source string) bool {
	switch source {
	case "context/summary.md", "context/facts.jsonl", "context/decisions.jsonl", "context/todo.md", "context/refs.jsonl":
		return true
	}
	return false
}

func authority(source string, a pack.Authored) string {
	switch {
	case source == messages:
		return "raw_history"
	case !derived(source):
		return "authored"
	case trust("summary", source, a) == "agent":
		return "authored"
	}
	return "derived"
}
