package importer

import (
	"encoding/json"
	"strconv"
	"strings"
)

// compacted takes the place where Codex replaced the history. Its message is the summary; replacement_history is what
// the model goes on with: messages that the log holds already, the summary again, and what Codex sends at every start.
//
// With a summary that can be read, or words that did not occur before, it becomes a message of type "compaction".
// Newer versions encrypt the summary. Then nothing readable replaces the history, and the message is only a note of
// type "compaction_marker": a reader that drops what stands before a compaction must not do so here.
func (c *codex) compacted(src source, p object) (outcome, error) {
	if err := c.release(); err != nil {
		return outcome{}, err
	}
	h := c.replacement(p)
	m := c.start(src, p)
	m.role, m.native = "user", c.start(src, object{{"type", quote("compacted")}}).native
	if s := p.str("message"); s != "" {
		m.content = append(m.content, textBlock(s))
	}
	for _, t := range h.fresh {
		m.content = append(m.content, textBlock(t))
	}
	if m.typ = "compaction"; len(m.content) == 0 {
		m.typ, m.role, m.meta = "compaction_marker", "system", true
		m.content = []json.RawMessage{textBlock("[context compacted here by codex; its summary is not readable; " +
			strconv.Itoa(h.items) + " items of history went on]")}
	}
	c.w.rep.Omitted["replacement_history items"] += h.items
	c.w.rep.MoreEvents++
	if _, err := c.keep(src, "compaction", h.event(p)); err != nil {
		return outcome{}, err
	}
	return c.write(src, p, m)
}

// replacement is what a replacement_history holds.
type replacement struct {
	items, messages, known, sealed int
	fresh                          []string // texts that no message held before
}

func (c *codex) replacement(p object) replacement {
	var r replacement
	for _, raw := range elements(p.get("replacement_history")) {
		o := parseObject(raw)
		r.items++
		if !void(o.get("encrypted_content")) {
			r.sealed++
		}
		if o.str("type") != "message" {
			continue
		}
		r.messages++
		fresh := c.fresh(o, p.str("message"))
		if len(fresh) == 0 {
			r.known++
		}
		r.fresh = append(r.fresh, fresh...)
	}
	return r
}

// fresh lists the texts of a message of the replacement_history that neither occurred before nor are the summary, without
// what Codex itself wrote.
func (c *codex) fresh(o object, summary string) []string {
	if oneOf(o.str("role"), "developer", "system") {
		return nil
	}
	var texts []string
	for _, raw := range elements(o.get("content")) {
		t := parseObject(raw).str("text")
		if s := strings.TrimSpace(t); s != "" && s != strings.TrimSpace(summary) && codexWrapper(t) == "" && !c.texts[c.digest(o.str("role"), t)] {
			texts = append(texts, t)
		}
	}
	return texts
}

// event gives the event's data: the native members, with counts in place of the history.
func (r *replacement) event(p object) object {
	data := p.without("message", "replacement_history")
	for _, n := range []struct {
		key string
		n   int
	}{{"items", r.items}, {"messages", r.messages}, {"known_messages", r.known}, {"encrypted_items", r.sealed}} {
		data = append(data, member{n.key, strconv.AppendInt(nil, int64(n.n), 10)})
	}
	return data
}

// sealed takes a compaction that is a response_item of its own: an encrypted summary.
func (c *codex) sealed(src source, p object) (outcome, error) {
	c.w.rep.Omitted["encrypted compaction"]++
	return c.keep(src, "compaction", p.without("type", "encrypted_content", "metadata", "internal_chat_message_metadata_passthrough"))
}
