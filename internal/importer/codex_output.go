package importer

import (
	"encoding/json"
	"strings"
)

// output takes what a tool gave back.
func (c *codex) output(src source, p object) (outcome, error) {
	m := c.start(src, p)
	content, failed, err := c.result(p, m)
	if err != nil {
		return outcome{}, err
	}
	var b builder
	b.str("type", "tool_result")
	b.str("tool_use_id", p.str("call_id"))
	b.raw("content", content)
	b.yes("is_error", failed)
	m.role, m.content = "tool", []json.RawMessage{b.end()}
	c.outputs[p.str("call_id")] = true
	return c.write(src, p, m)
}

// result gives the content of a tool's result, and whether it tells of a failure.
func (c *codex) result(p object, m *message) (content json.RawMessage, failed bool, err error) {
	out := p.get("output")
	if out == nil {
		out = p.get("tools") // what a tool search found
	}
	if o := parseObject(out); o != nil { // {"content": ..., "success": ...}
		failed = string(o.get("success")) == "false"
		if v := o.get("content"); !void(v) {
			out = v
		}
	}
	if s := text(out); s != "" {
		return c.textResult(s, m, failed)
	}
	if p.str("type") == "tool_search_output" {
		return quote(string(compact(out))), failed, nil
	}
	if elements(out) == nil {
		if void(out) {
			return quote(""), failed, nil
		}
		return quote(string(compact(out))), failed, nil
	}
	list, err := c.w.blocks(out)
	return list2raw(list), failed, err
}

// textResult reads an output that is a string: text, or JSON that wraps it.
func (c *codex) textResult(s string, m *message, failed bool) (json.RawMessage, bool, error) {
	failed = failed || exitedBadly(s)
	if (s[0] != '{' && s[0] != '[') || !json.Valid([]byte(s)) || depth([]byte(s)) > maxDepth/2 {
		return quote(s), failed, nil
	}
	if o := parseObject([]byte(s)); o.get("output") != nil && len(o.without("output", "metadata")) == 0 {
		meta := o.get("metadata")
		m.native.raw("output_metadata", meta)
		code, ok := parseObject(meta).number("exit_code")
		if out := text(o.get("output")); out != "" || string(o.get("output")) == `""` {
			return quote(out), failed || (ok && code != 0), nil
		}
		return quote(string(compact(o.get("output")))), failed || (ok && code != 0), nil
	}
	if list := elements([]byte(s)); hasMedia(list) { // an MCP tool's content, as text
		blocks, err := c.w.blocks([]byte(s))
		return list2raw(blocks), failed, err
	}
	return quote(s), failed, nil
}

func hasMedia(list []json.RawMessage) bool {
	for _, e := range list {
		if _, ok := findPicture(parseObject(e)); ok {
			return true
		}
	}
	return false
}

// exitedBadly reads the head that Codex puts before a command's output, and tells whether it names an exit code that
// is not 0.
func exitedBadly(s string) bool {
	if head, _, _ := strings.Cut(s, ":"); !oneOf(head, "Chunk ID", "Exit code", "Wall time", "Command") {
		return false
	}
	for range 8 {
		var line string
		line, s, _ = strings.Cut(s, "\n")
		if strings.HasPrefix(line, "Output:") {
			return false
		}
		for _, start := range []string{"Exit code: ", "Process exited with code "} {
			if code, ok := strings.CutPrefix(line, start); ok {
				return code != "0"
			}
		}
	}
	return false
}
