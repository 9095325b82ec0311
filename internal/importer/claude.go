package importer

import (
	"crypto/sha256"
	"encoding/json"
)

// claude reads Claude Code's log: one record a line, a tree by parentUuid with forks, kept in the order of the file.
//
// What becomes of its traps:
//   - One API message is logged as several records with one message.id, a block each. Records that follow each other
//     without another message between them are merged into one message. A tool's result may stand between them (tools
//     start while the message still streams): then the order of the log wins, and the message goes on in a second
//     record ("continues" in its native part).
//   - usage is counted once an API message: on its first record; one that continues it carries only what was added.
//   - "parent" names a written message: records that led to none, and merged ones, stand for the message before or
//     around them. The native parentUuid is kept beside it.
//   - A user record with tool results becomes a record of role "tool"; the user's own words in it, a record of their own.
//   - toolUseResult repeats the result in another form and is left out; the names of those of its fields that say more
//     than the result are kept.
//   - Compaction is a system record (an event of type "compaction") and a user record with isCompactSummary (a message
//     of type "compaction", which also carries the boundary's compactMetadata).
//   - A record that was logged again with the same uuid and content is skipped.
//   - A prompt that the user typed while the agent worked is an attachment (queued_command), and becomes a message.
type claude struct {
	w        *writer
	run      *run                // the assistant's message that may still grow
	ids      map[string]string   // uuid of any record: the id of the message that stands for it, "" when none does
	seen     map[string][32]byte // uuid of a message: digest of its content
	usage    map[string]spent    // message.id: what was written of its usage
	last     map[string]string   // record type: its last value, for those that are logged again and again
	context  string              // the last session_context
	boundary json.RawMessage     // compactMetadata that waits for its summary
	titles   []leafTitle         // the summaries, in order
	agent    string              // the id of the agent whose own log this is
	named    bool                // the title is the user's own
	began    bool                // a message was seen
	handlers map[string]func(source) (outcome, error)
}

// leafTitle is a summary: the title of the session whose last record is leaf.
type leafTitle struct{ leaf, title string }

func newClaude(w *writer) handler {
	c := &claude{w: w, ids: map[string]string{}, seen: map[string][32]byte{}, usage: map[string]spent{},
		last: map[string]string{}}
	c.handlers = map[string]func(source) (outcome, error){
		"user": c.said, "assistant": c.said, "attachment": c.attachment, "system": c.system, "progress": c.progress,
		"queue-operation": c.queue, "summary": c.summary, "custom-title": c.note, "agent-name": c.note,
		"pr-link": c.note, "permission-mode": c.note, "mode": c.note, "last-prompt": c.atTurnEnd,
		"cost-state": c.atTurnEnd, "file-history-snapshot": c.noise,
	}
	return c
}

// isRecord wants the members that every record of its type has.
func (c *claude) isRecord(o object) bool {
	switch t := o.str("type"); t {
	case "user", "assistant":
		m := o.obj("message")
		return o.str("sessionId") != "" && (m == nil || m.get("content") != nil) && m.get("parts") == nil
	case "system", "attachment", "progress":
		return o.str("sessionId") != "" && o.str("uuid") != "" && o.get("isSidechain") != nil
	case "summary":
		return o.get("leafUuid") != nil
	case "file-history-snapshot":
		return o.get("messageId") != nil
	case "queue-operation", "custom-title", "agent-name", "pr-link", "permission-mode", "last-prompt":
		return o.str("sessionId") != ""
	}
	return false
}

func (c *claude) starts() []string {
	return []string{`{"parentUuid":`, `{"type":"`, `{"logicalParentUuid":`}
}

func (c *claude) record(src source) (outcome, error) {
	o := c.original(src.obj)
	src.obj = o
	if c.w.rep.SessionID == "" {
		c.w.rep.SessionID = o.str("sessionId")
	}
	if c.w.rep.CWD == "" {
		c.w.rep.CWD = o.str("cwd")
	}
	c.w.rep.ClientVersion = firstSet(o.str("version"), c.w.rep.ClientVersion)
	if h := c.handlers[o.str("type")]; h != nil {
		return h(src)
	}
	return c.keep(src, firstSet(o.str("type"), "unknown"), c.payload(o))
}

// end writes the last message.
func (c *claude) end() error { return c.flush() }

// title returns the title so far: the user's own, else the last summary of this session. A summary whose leaf is in
// another session does not count.
func (c *claude) title() string {
	title := c.w.rep.Title
	for _, t := range c.titles {
		if _, ok := c.ids[t.leaf]; ok && !c.named {
			title = t.title
		}
	}
	return title
}

// parent gives the id of the message that o answers, "" when it is the first or the log does not hold it.
func (c *claude) parent(o object) string {
	return c.ids[firstSet(o.str("parentUuid"), o.str("logicalParentUuid"))]
}

// stand notes that the message id stands for the record o: records that name o as their parent answer that message.
func (c *claude) stand(o object, id string) {
	if u := o.str("uuid"); u != "" {
		c.ids[u] = id
	}
}

// keep writes a record that is no message as an event.
func (c *claude) keep(src source, typ string, data object) (outcome, error) {
	o := src.obj
	c.stand(o, c.parent(o))
	e := event{typ: typ, id: o.str("uuid"), created: o.str("timestamp"), data: data, native: c.native(src)}
	return outcome{kind: asEvent}, c.w.event(&e)
}

// drop passes over a record.
func (c *claude) drop(src source, reason string) (outcome, error) {
	c.stand(src.obj, c.parent(src.obj))
	return skip(reason), nil
}

// again tells whether a message was logged before with the same content, as happens when a session is resumed.
func (c *claude) again(o object, content []byte) bool {
	u := o.str("uuid")
	if u == "" {
		return false
	}
	sum := sha256.Sum256(content)
	old, ok := c.seen[u]
	c.seen[u] = sum
	return ok && old == sum
}

// native starts the native part of what a record leads to.
func (c *claude) native(src source) builder {
	var n builder
	n.str("format", string(ClaudeCode))
	n.num("line", src.line)
	for _, k := range []string{"uuid", "parentUuid", "logicalParentUuid", "sessionId"} {
		n.str(k, src.obj.str(k))
	}
	return n
}

// payload gives the members of a record that is no message, without its envelope.
func (c *claude) payload(o object) object {
	var p object
	for _, m := range o.without(envelope()...) {
		if !void(m.val) {
			p = append(p, m)
		}
	}
	return p
}

// envelope lists the members that stand elsewhere: in the native part, or in the session_context event.
func envelope() []string {
	return []string{"type", "uuid", "parentUuid", "logicalParentUuid", "sessionId", "timestamp", "isSidechain", "isMeta",
		"userType", "entrypoint", "cwd", "version", "gitBranch", "slug"}
}

// where writes an event when the session's surroundings changed.
func (c *claude) where(src source) error {
	var now object
	for _, k := range []string{"sessionId", "agentId", "cwd", "gitBranch", "version", "entrypoint", "slug"} {
		if v := src.obj.get(k); !void(v) {
			now = append(now, member{k, v})
		}
	}
	s := string(now.encode())
	if s == c.context || len(now) == 0 {
		return nil
	}
	c.context = s
	c.w.rep.MoreEvents++
	var n builder
	n.str("format", string(ClaudeCode))
	n.num("line", src.line)
	return c.w.event(&event{typ: "session_context", created: src.obj.str("timestamp"), data: now, native: n})
}
