package importer

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
)

// codex reads Codex's rollout log: {timestamp, type, payload} a line, in order, without parents.
//
// What becomes of its traps:
//   - response_item is what the model saw and said: each becomes a message. event_msg tells the same again for the
//     screen, just before or after: it is held back until its response_item is found, and skipped then; when the turn ends
//     without one it becomes an event.
//   - Calls and outputs pair by call_id. Arguments are JSON in a string: tool_use.input is the object when they are one,
//     else {"_raw": text}. A custom tool's input is free text: {"input": text}. An output that wraps its text in
//     {"output","metadata"} is unwrapped, the metadata kept in the native part. An exit code other than 0 sets is_error.
//   - Reasoning is mostly encrypted: its block says so and holds the readable summary, if any; the encrypted bytes are
//     left out. Reasoning that holds neither is skipped as empty.
//   - turn_context is logged every turn: an event when it changed.
//   - base_instructions are a message of role "system", once. They, the messages of role "developer" and <environment_context>,
//     AGENTS.md and the like in the user's name are what Codex sends at every start: is_meta, of type "instructions".
//   - compacted: see codex_compact.go.
//   - A forked session, or an agent that was spawned with the history, may replay its parent's history: the parent's
//     session_meta follows its own. What is replayed is kept and marked ("replayed"). Newer versions only name the parent
//     (Report.ForkedFrom).
type codex struct {
	w       *writer
	model   string
	turn    string          // turn_id of the current turn
	context []byte          // the last turn_context, without its turn
	world   []byte          // the last world_state
	base    map[digest]bool // base_instructions that were written
	texts   map[digest]bool // every text of a message, with its role
	outputs map[string]bool // call_ids with an output, and ids of items that were written
	held    []heldEvent     // event_msgs whose response_item may still come
	began   bool            // a session_meta was seen
	replays bool            // the parent's history is read, in a fork
	items   map[string]func(source, object) (outcome, error)
}

// digest stands for a text that was seen.
type digest [sha256.Size]byte

func newCodex(w *writer) handler {
	c := &codex{w: w, base: map[digest]bool{}, texts: map[digest]bool{}, outputs: map[string]bool{}}
	c.items = map[string]func(source, object) (outcome, error){
		"message": c.message, "reasoning": c.reasoning,
		"function_call": c.call, "custom_tool_call": c.call, "local_shell_call": c.call, "tool_search_call": c.call,
		"web_search_call": c.serverCall, "image_generation_call": c.serverCall,
		"function_call_output": c.output, "custom_tool_call_output": c.output, "tool_search_output": c.output,
		"compaction": c.sealed, "compaction_summary": c.sealed, "context_compaction": c.sealed,
		"ghost_snapshot": c.noise,
	}
	return c
}

func (c *codex) isRecord(o object) bool {
	if o.get("timestamp") == nil || (o.get("payload") != nil && o.obj("payload") == nil) {
		return false
	}
	return oneOf(o.str("type"), "session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state")
}

func (c *codex) starts() []string { return []string{`{"timestamp":`, `{"type":"`} }

func (c *codex) record(src source) (outcome, error) {
	p := src.obj.obj("payload")
	switch t := src.obj.str("type"); t {
	case "session_meta":
		return c.meta(src, p)
	case "response_item":
		if h := c.items[p.str("type")]; h != nil {
			return h(src, p)
		}
		return c.unknown(src, p)
	case "event_msg":
		return c.told(src, p)
	case "turn_context":
		return c.turnContext(src, p)
	case "world_state":
		return c.onChange(src, p, &c.world)
	case "compacted":
		return c.compacted(src, p)
	default:
		data := p
		if data == nil {
			data = src.obj.without("timestamp", "type")
		}
		return c.keep(src, firstSet(t, "unknown"), data)
	}
}

// end writes what no response_item repeated.
func (c *codex) end() error { return c.release() }

// meta takes the head of a session. In a fork the parent's follows its own.
func (c *codex) meta(src source, p object) (outcome, error) {
	if !c.began {
		c.w.rep.SessionID, c.w.rep.CWD = firstSet(p.str("id"), p.str("session_id")), p.str("cwd")
		c.w.rep.ForkedFrom = p.str("forked_from_id")
		c.w.rep.ClientVersion = p.str("cli_version")
	} else if id := p.str("id"); id != "" && id == c.w.rep.ForkedFrom {
		c.replays = true
	}
	c.began = true
	base := firstSet(p.obj("base_instructions").str("text"), p.str("base_instructions"), p.str("instructions"))
	out, err := c.keep(src, "session_meta", p.without("base_instructions", "instructions"))
	if err != nil || base == "" {
		return out, err
	}
	if c.base[c.digest("system", base)] {
		c.w.rep.Omitted["base_instructions"]++
		return out, nil
	}
	c.base[c.digest("system", base)] = true
	m := c.start(src, object{})
	m.id, m.role, m.content = c.w.newID(src.name("codex-")+".base_instructions", src), "system", []json.RawMessage{textBlock(base)}
	m.meta, m.typ, m.replayed = true, instructions, c.replays
	m.native.str("type", "base_instructions")
	c.w.rep.MoreEvents++ // the event stands beside the message
	return outcome{kind: asMessage}, c.w.message(m)
}

func (c *codex) turnContext(src source, p object) (outcome, error) {
	c.begins(p.str("turn_id"))
	c.model = firstSet(p.str("model"), c.model)
	return c.onChange(src, p.without("turn_id"), &c.context)
}

// begins notes that a turn begins. In a fork, the first one that is younger than the fork ends what is replayed: ids are UUIDs
// of version 7, which sort by time. Where they are not, nothing shows what is replayed.
func (c *codex) begins(turn string) {
	c.turn = firstSet(turn, c.turn)
	if turn != "" && c.replays && (!isUUID7(turn) || !isUUID7(c.w.rep.SessionID) || turn > c.w.rep.SessionID) {
		c.replays = false
	}
}

func isUUID7(id string) bool { return len(id) == 36 && id[8] == '-' && id[14] == '7' }

// onChange writes an event when data is not what it was.
func (c *codex) onChange(src source, data object, last *[]byte) (outcome, error) {
	now := compact(data.encode())
	typ := src.obj.str("type")
	if bytes.Equal(now, *last) {
		return skip(typ + " unchanged"), nil
	}
	*last = now
	return c.keep(src, typ, data)
}

// keep writes a record that is no message as an event.
func (c *codex) keep(src source, typ string, data object) (outcome, error) {
	return outcome{kind: asEvent}, c.w.event(c.event(src, typ, data))
}

func (c *codex) event(src source, typ string, data object) *event {
	var said object
	for _, m := range data {
		if !void(m.val) {
			said = append(said, m)
		}
	}
	e := &event{typ: typ, created: src.obj.str("timestamp"), data: said}
	e.native.str("format", string(Codex))
	e.native.num("line", src.line)
	return e
}

func (c *codex) noise(_ source, p object) (outcome, error) { return skip(p.str("type")), nil }

// start makes the message that the response_item p leads to.
func (c *codex) start(src source, p object) *message {
	m := &message{created: src.obj.str("timestamp")}
	m.native.str("format", string(Codex))
	m.native.num("line", src.line)
	m.native.str("type", p.str("type"))
	m.native.str("id", p.str("id"))
	m.native.str("call_id", p.str("call_id"))
	turn := firstSet(p.obj("internal_chat_message_metadata_passthrough").str("turn_id"), p.obj("metadata").str("turn_id"), c.turn)
	m.native.str("turn_id", turn)
	for _, k := range []string{"namespace", "phase", "status", "author", "recipient", "execution"} {
		m.native.str(k, p.str(k))
	}
	return m
}

// write writes a message, and lets go of the event_msgs that repeat it.
func (c *codex) write(src source, p object, m *message) (outcome, error) {
	m.id, m.replayed = c.w.newID(p.str("id"), src), c.replays
	if m.role == "assistant" {
		m.model = c.model
	}
	c.heard(m)
	return outcome{kind: asMessage}, c.w.message(m)
}

func (c *codex) digest(role, text string) digest { return sha256.Sum256([]byte(role + "\x00" + text)) }
