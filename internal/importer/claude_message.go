package importer

import (
	"encoding/json"
	"strings"
)

// said takes a record that holds a message.
func (c *claude) said(src source) (outcome, error) {
	o := src.obj
	m := o.obj("message")
	if m == nil {
		return c.keep(src, o.str("type"), c.payload(o))
	}
	if c.again(o, m.get("content")) {
		return skip("logged again with the same uuid"), nil
	}
	if err := c.where(src); err != nil {
		return outcome{}, err
	}
	if o.truth("isApiErrorMessage") {
		return c.keep(src, "api_error", c.payload(o))
	}
	c.begin(o)
	blocks, err := c.w.blocks(m.get("content"))
	if err != nil {
		return outcome{}, err
	}
	if firstSet(m.str("role"), o.str("type")) == "assistant" {
		return c.assistant(src, m, blocks)
	}
	if len(blocks) == 0 {
		return c.drop(src, "empty")
	}
	return c.user(src, m, blocks)
}

// begin looks at the first message: a log that starts on a side chain with an agent's id is that agent's own log, and
// its records are no side chain of it.
func (c *claude) begin(o object) {
	if !c.began && o.truth("isSidechain") {
		c.agent = o.str("agentId")
		c.childOf(o)
	}
	c.began = true
}

func (c *claude) sidechain(o object) bool {
	return o.truth("isSidechain") && (c.agent == "" || o.str("agentId") != c.agent)
}

// user writes a user's record: the tools' results as one message, what else it holds as another.
func (c *claude) user(src source, m object, blocks []json.RawMessage) (outcome, error) {
	if err := c.flush(); err != nil {
		return outcome{}, err
	}
	var results, words []json.RawMessage
	toolFirst := false
	for i, b := range blocks {
		if parseObject(b).str("type") == "tool_result" {
			results = append(results, b)
			toolFirst = toolFirst || i == 0
		} else {
			words = append(words, b)
		}
	}
	parts := []message{{role: firstSet(m.str("role"), "user"), content: words}, {role: "tool", content: results}}
	if toolFirst {
		parts[0], parts[1] = parts[1], parts[0]
	}
	parent, written := c.parent(src.obj), 0
	for i := range parts {
		if len(parts[i].content) == 0 {
			continue
		}
		id := src.obj.str("uuid")
		if written > 0 && id != "" {
			id += "." + parts[i].role
		}
		if err := c.part(src, &parts[i], id, parent); err != nil {
			return outcome{}, err
		}
		parent = parts[i].id
		written++
	}
	c.stand(src.obj, parent)
	c.w.rep.MoreMessages += written - 1
	return outcome{kind: asMessage}, nil
}

// part writes one message of a user's record.
func (c *claude) part(src source, p *message, id, parent string) error {
	o := src.obj
	p.id = c.w.newID(id, src)
	p.parent, p.created, p.sidechain = parent, o.str("timestamp"), c.sidechain(o)
	p.meta = p.role != "tool" && o.truth("isMeta") || p.role == "user" && claudeMeta(p.content)
	p.native = c.native(src)
	extra := o.without(append(envelope(), "message", "toolUseResult", "requestId", "planContent")...)
	if parent := o.str("parentUuid"); o.str("sourceToolAssistantUUID") == parent {
		extra = extra.without("sourceToolAssistantUUID")
	}
	if o.truth("isCompactSummary") && p.role == "user" {
		p.typ = "compaction"
		extra = append(extra.without("isCompactSummary"), member{"compactMetadata", c.boundary})
		c.boundary = nil
	}
	p.native.all(extra)
	if plan := o.get("planContent"); !void(plan) && !holds(p.content, text(plan)) {
		p.native.raw("planContent", plan)
	}
	c.childAsked(p)
	c.agentNotified(textsOf(p.content))
	if res := o.get("toolUseResult"); res != nil && p.role == "tool" {
		c.agentReturned(res)
		c.w.rep.Omitted["toolUseResult"]++
		p.native.strs("tool_use_result_keys", saysMore(res, p.content))
	}
	return c.w.message(p)
}

// saysMore names the fields of a toolUseResult that tell more than the result does.
func saysMore(res json.RawMessage, content []json.RawMessage) []string {
	var keys []string
	for _, m := range parseObject(res) {
		if void(m.val) || oneOf(m.key, "type", "mode", "status") { // these only say what kind of result it is
			continue
		}
		switch m.val[0] {
		case '"':
			if holds(content, text(m.val)) {
				continue
			}
		case '{', '[':
		default: // numbers and switches
			continue
		}
		keys = append(keys, m.key)
	}
	return keys
}

// holds tells whether the texts of content hold s.
func holds(content []json.RawMessage, s string) bool {
	s = strings.TrimSpace(s)
	for _, raw := range content {
		if len(raw) < len(s) {
			continue
		}
		b := parseObject(raw)
		if strings.Contains(firstSet(b.str("text"), b.str("content")), s) || holds(elements(b.get("content")), s) {
			return true
		}
	}
	return false
}

// claudeMeta tells whether a user's record holds nothing but what Claude Code wrote in the user's name.
func claudeMeta(content []json.RawMessage) bool {
	for _, raw := range content {
		b := parseObject(raw)
		if b.str("type") != "text" || !claudeMetaText(strings.TrimSpace(b.str("text"))) {
			return false
		}
	}
	return len(content) > 0
}

// claudeMetaText knows how such texts start. A slash command is the user's own words when it has arguments (/plan why
// does the build fail), or when it runs a prompt (then its message stands before its name).
func claudeMetaText(s string) bool {
	if strings.HasPrefix(s, "<command-name>") {
		_, args, _ := strings.Cut(s, "<command-args>")
		args, _, _ = strings.Cut(args, "</command-args>")
		return strings.TrimSpace(args) == ""
	}
	for _, start := range []string{"<local-command-", "Caveat: The messages below", "<bash-stdout>", "<bash-stderr>", "<bash-input>",
		"<task-notification>", "<system-reminder>", "[Request interrupted by user"} {
		if strings.HasPrefix(s, start) {
			return true
		}
	}
	return false
}
