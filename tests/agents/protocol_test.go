package agents

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// part is a part of a message in any of the protocols.
type part struct {
	Type, Text                     string
	Name, Thinking                 string
	Input, Content, Output, Result json.RawMessage
	FunctionCall, FunctionResponse json.RawMessage
	Thought                        bool
}

// parts reads a content: a text or a list of parts.
func parts(raw json.RawMessage) []part {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []part{{Type: "text", Text: text}}
	}
	var list []part
	_ = json.Unmarshal(raw, &list) // what is no list has no parts
	return list
}

// words returns the strings in JSON values, each on a line, those of an object in the order of its keys.
func words(list ...json.RawMessage) string {
	var b strings.Builder
	var add func(v any)
	add = func(v any) {
		switch v := v.(type) {
		case string:
			b.WriteString(v + "\n")
		case []any:
			for _, e := range v {
				add(e)
			}
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				add(v[k])
			}
		}
	}
	for _, raw := range list {
		var v any
		_ = json.Unmarshal(raw, &v) // what is no JSON has no strings
		add(v)
	}
	return b.String()
}

// read returns a message of a role with these parts.
func read(role string, list []part) message {
	m := message{role: role}
	if role == "model" {
		m.role = "assistant"
	}
	for _, p := range list {
		if p.Thought || p.Type == "thinking" {
			continue
		}
		m.text += p.Text + "\n" + words(p.Input, p.Content, p.FunctionCall, p.FunctionResponse)
		switch p.Type {
		case "text":
			m.texts = append(m.texts, strings.TrimSpace(p.Text))
		case "tool_use":
			m.calls = append(m.calls, canonical(p.Input))
		case "tool_result":
			m.results = append(m.results, output(p.Content))
		}
		if m.role == "user" && p.Text != "" && !strings.HasPrefix(p.Text, "<system-reminder>") {
			m.ask += p.Text + "\n"
		}
	}
	return m
}

// canonical returns a JSON value with its keys in order.
func canonical(raw json.RawMessage) string {
	var v any
	_ = json.Unmarshal(raw, &v) // what is no JSON is null
	out, _ := json.Marshal(v)
	return string(out)
}

// output returns the text of a result.
func output(raw json.RawMessage) string {
	var texts []string
	for _, p := range parts(raw) {
		if p.Type == "text" {
			texts = append(texts, p.Text)
		}
	}
	return strings.TrimSpace(strings.Join(texts, "\n"))
}

func (m *model) anthropic(w http.ResponseWriter, body []byte) {
	var in struct {
		Model    string
		Stream   bool
		Thinking struct{ Type string }
		Tools    []struct{ Name string }
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		m.t.Error(err)
	}
	var list []message
	for _, msg := range in.Messages {
		list = append(list, read(msg.Role, parts(msg.Content)))
	}
	var tools []string
	for _, t := range in.Tools {
		tools = append(tools, t.Name)
	}
	a := m.answer(list, tools)
	stop := "end_turn"
	blocks := []map[string]any{{"type": "text", "text": a.text}}
	if in.Thinking.Type != "" && in.Thinking.Type != "disabled" {
		blocks = append([]map[string]any{{"type": "thinking", "thinking": "so", "signature": "c2ln"}}, blocks...)
	}
	for _, c := range a.calls {
		blocks = append(blocks, map[string]any{"type": "tool_use", "id": c.id, "name": c.name, "input": c.input})
		stop = "tool_use"
	}
	usage := map[string]any{"input_tokens": a.usage, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 9}
	msg := map[string]any{"id": fmt.Sprint("msg_", m.n), "type": "message", "role": "assistant", "model": in.Model, "content": blocks, "stop_reason": stop, "usage": usage}
	if !in.Stream {
		reply(w, msg)
		return
	}
	start := map[string]any{"id": msg["id"], "type": "message", "role": "assistant", "model": in.Model, "content": []any{}, "stop_reason": nil, "usage": usage}
	list2 := []any{"message_start", map[string]any{"type": "message_start", "message": start}}
	for i, b := range blocks {
		empty, deltas := anthropicBlock(b)
		list2 = append(list2, "content_block_start", map[string]any{"type": "content_block_start", "index": i, "content_block": empty})
		for _, d := range deltas {
			list2 = append(list2, "content_block_delta", map[string]any{"type": "content_block_delta", "index": i, "delta": d})
		}
		list2 = append(list2, "content_block_stop", map[string]any{"type": "content_block_stop", "index": i})
	}
	events(w, append(list2, "message_delta", map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": stop}, "usage": usage},
		"message_stop", map[string]any{"type": "message_stop"})...)
}

// anthropicBlock returns a block as a stream begins it, and the deltas that fill it.
func anthropicBlock(b map[string]any) (empty map[string]any, deltas []map[string]any) {
	switch b["type"] {
	case "thinking":
		return map[string]any{"type": "thinking", "thinking": "", "signature": ""}, []map[string]any{
			{"type": "thinking_delta", "thinking": b["thinking"]}, {"type": "signature_delta", "signature": b["signature"]}}
	case "text":
		text := b["text"].(string)
		return map[string]any{"type": "text", "text": ""}, []map[string]any{
			{"type": "text_delta", "text": text[:len(text)/2]}, {"type": "text_delta", "text": text[len(text)/2:]}}
	}
	input, _ := json.Marshal(b["input"])
	return map[string]any{"type": "tool_use", "id": b["id"], "name": b["name"], "input": map[string]any{}}, []map[string]any{
		{"type": "input_json_delta", "partial_json": string(input)}}
}

func (m *model) responses(w http.ResponseWriter, body []byte) {
	var in struct {
		Model  string
		Stream bool
		Tools  []struct{ Name, Type string }
		Input  []struct {
			Type, Role, Name, Arguments string
			Content, Output             json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		m.t.Error(err)
	}
	var list []message
	for _, it := range in.Input {
		switch {
		case it.Type == "message" || it.Type == "":
			list = append(list, read(strings.Replace(it.Role, "developer", "system", 1), parts(it.Content)))
		case it.Type == "function_call":
			list = append(list, message{role: "assistant", text: words([]byte(it.Arguments))})
		case strings.HasSuffix(it.Type, "_output"):
			list = append(list, message{role: "tool", text: words(it.Output)})
		}
	}
	var tools []string
	for _, t := range in.Tools {
		tools = append(tools, t.Name)
	}
	if len(tools) == 0 {
		tools = []string{"none"}
	}
	a := m.answer(list, tools)
	items := []any{
		map[string]any{"type": "reasoning", "id": fmt.Sprint("rs_", m.n), "summary": []any{map[string]any{"type": "summary_text", "text": "so"}}, "encrypted_content": "gAAA"},
		map[string]any{"type": "message", "id": fmt.Sprint("msg_", m.n), "role": "assistant", "status": "completed", "content": []any{map[string]any{"type": "output_text", "text": a.text, "annotations": []any{}}}}}
	for _, c := range a.calls {
		input, _ := json.Marshal(c.input)
		items = append(items, map[string]any{"type": "function_call", "id": "fc_" + c.id, "call_id": c.id, "name": c.name, "arguments": string(input), "status": "completed"})
	}
	response := map[string]any{"id": fmt.Sprint("resp_", m.n), "object": "response", "model": in.Model, "status": "completed", "output": items,
		"usage": map[string]any{"input_tokens": a.usage, "input_tokens_details": map[string]any{"cached_tokens": 0}, "output_tokens": 9, "output_tokens_details": map[string]any{"reasoning_tokens": 1}, "total_tokens": a.usage + 9}}
	if !in.Stream {
		reply(w, response)
		return
	}
	out := []any{"response.created", map[string]any{"type": "response.created", "response": map[string]any{"id": response["id"], "status": "in_progress"}}}
	for i, it := range items {
		out = append(out, "response.output_item.done", map[string]any{"type": "response.output_item.done", "output_index": i, "item": it})
	}
	events(w, append(out, "response.completed", map[string]any{"type": "response.completed", "response": response})...)
}

func (m *model) chat(w http.ResponseWriter, body []byte) {
	var in struct {
		Model    string
		Stream   bool
		Tools    []struct{ Function struct{ Name string } }
		Messages []struct {
			Role      string
			Content   json.RawMessage
			ToolCalls []struct{ Function struct{ Arguments string } } `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		m.t.Error(err)
	}
	var list []message
	for _, msg := range in.Messages {
		r := read(msg.Role, parts(msg.Content))
		for _, c := range msg.ToolCalls {
			r.text += words([]byte(c.Function.Arguments))
		}
		list = append(list, r)
	}
	var tools []string
	for _, t := range in.Tools {
		tools = append(tools, t.Function.Name)
	}
	a := m.answer(list, tools)
	chunk := func(delta map[string]any, finish any) map[string]any {
		return map[string]any{"id": fmt.Sprint("chat-", m.n), "object": "chat.completion.chunk", "model": in.Model, "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}}
	}
	out := []any{"", chunk(map[string]any{"role": "assistant", "content": a.text}, nil)}
	finish := "stop"
	for i, c := range a.calls {
		input, _ := json.Marshal(c.input)
		out = append(out, "", chunk(map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": c.id, "type": "function", "function": map[string]any{"name": c.name, "arguments": string(input)}}}}, nil))
		finish = "tool_calls"
	}
	end := chunk(map[string]any{}, finish)
	end["usage"] = map[string]any{"prompt_tokens": a.usage, "completion_tokens": 9, "total_tokens": a.usage + 9}
	events(w, append(out, "", end, "", "[DONE]")...)
}

func (m *model) gemini(w http.ResponseWriter, body []byte, stream bool) {
	var in struct {
		Contents []struct {
			Role  string
			Parts []part
		}
		Tools            []struct{ FunctionDeclarations []struct{ Name string } }
		GenerationConfig struct{ ResponseMimeType string }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		m.t.Error(err)
	}
	var list []message
	for _, c := range in.Contents {
		list = append(list, read(c.Role, c.Parts))
	}
	var tools []string
	for _, t := range in.Tools {
		for _, f := range t.FunctionDeclarations {
			tools = append(tools, f.Name)
		}
	}
	a := answer{text: `{"reasoning":"x","next_speaker":"user","complexity_reasoning":"x","complexity_score":1,"model_choice":"flash"}`, usage: 10}
	if in.GenerationConfig.ResponseMimeType != "application/json" {
		a = m.answer(list, tools)
	}
	out := []any{map[string]any{"text": a.text}}
	for _, c := range a.calls {
		out = append(out, map[string]any{"functionCall": map[string]any{"name": c.name, "args": c.input}, "thoughtSignature": "c2ln"})
	}
	response := map[string]any{"candidates": []any{map[string]any{"index": 0, "finishReason": "STOP", "content": map[string]any{"role": "model", "parts": out}}},
		"usageMetadata": map[string]any{"promptTokenCount": a.usage, "candidatesTokenCount": 9, "totalTokenCount": a.usage + 9}, "modelVersion": "gemini-2.5-pro", "responseId": fmt.Sprint("r", m.n)}
	if !stream {
		reply(w, response)
		return
	}
	events(w, "", response)
}
