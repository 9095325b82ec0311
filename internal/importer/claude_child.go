package importer

import (
	"encoding/json"
	"strings"
)

// Child is what the log of a subagent says of its run.
type Child struct {
	ID      string `json:"id"`     // the subagent's
	Parent  string `json:"parent"` // the native id of the session that started it
	Handoff string `json:"-"`      // the prompt that it was started with
	Result  string `json:"-"`      // the last answer that ended a turn of it
	Ended   bool   `json:"ended"`  // the log ends in that answer
}

// The status of a subagent, as the log of its parent has it.
const (
	AgentDone   = "done"
	AgentFailed = "error"
)

// childOf notes that the log is that of a subagent.
func (c *claude) childOf(o object) {
	if c.agent != "" {
		c.w.rep.Child = &Child{ID: c.agent, Parent: o.str("sessionId")}
	}
}

// childAsked notes what a subagent was told, or what its tools returned: its turn goes on.
func (c *claude) childAsked(m *message) {
	child := c.w.rep.Child
	if child == nil || m.sidechain {
		return
	}
	child.Ended = false
	if child.Handoff == "" && m.role == "user" && !m.meta {
		child.Handoff = textsOf(m.content)
	}
}

// childAnswered notes an answer of a subagent. One without a call ends the turn, unless its stop_reason says otherwise.
func (c *claude) childAnswered(r *run) {
	child := c.w.rep.Child
	if child == nil || r.m.sidechain || r.m.meta {
		return
	}
	words := textsOf(r.m.content)
	child.Ended = words != "" && !calls(r.m.content) && !oneOf(r.stopReason(), "tool_use", "pause_turn")
	if child.Ended {
		child.Result = words
	}
}

// agentReturned notes that a subagent returned its result to a call.
func (c *claude) agentReturned(result json.RawMessage) {
	o := parseObject(result)
	if id := o.str("agentId"); id != "" && o.str("status") == "completed" {
		c.agentIs(id, AgentDone)
	}
}

// agentNotified notes what a notification says of a task that ran in the background, as a subagent may. Its parts stand in the
// notification in this order.
func (c *claude) agentNotified(words string) {
	if _, rest, ok := strings.Cut(words, "<task-notification>"); ok {
		id, rest := between(rest, "<task-id>", "</task-id>")
		status, _ := between(rest, "<status>", "</status>")
		switch status {
		case "completed":
			c.agentIs(id, AgentDone)
		case "failed", "killed", "stopped":
			c.agentIs(id, AgentFailed)
		}
	}
}

func (c *claude) agentIs(id, status string) {
	if c.w.rep.Agents == nil {
		c.w.rep.Agents = map[string]string{}
	}
	c.w.rep.Agents[id] = status
}

// between returns what stands between two marks, and what follows them; nothing when a mark is missing.
func between(s, open, end string) (in, rest string) {
	_, s, _ = strings.Cut(s, open)
	in, rest, ok := strings.Cut(s, end)
	if !ok {
		return "", ""
	}
	return in, rest
}

// textsOf returns the texts of content, separated by blank lines.
func textsOf(content []json.RawMessage) string {
	var list []string
	for _, raw := range content {
		if b := parseObject(raw); b.str("type") == "text" && b.str("text") != "" {
			list = append(list, b.str("text"))
		}
	}
	return strings.Join(list, "\n\n")
}

func calls(content []json.RawMessage) bool {
	for _, raw := range content {
		if parseObject(raw).str("type") == "tool_use" {
			return true
		}
	}
	return false
}
