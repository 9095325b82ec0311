package importer

import (
	"encoding/json"
	"strconv"
	"strings"
)

// openhands reads the events of OpenHands: actions and observations. They stand in a list, or under "history" in the
// records that its evaluations and its resolver write, a conversation a line.
//
// What becomes of its traps:
//   - An action that the model asked for holds the whole answer (tool_call_metadata.model_response), and so does its
//     observation again: the call is taken from there, the text once an answer, and the usage too. Where an answer holds
//     several calls, each is a message of its own, since results stand between them ("continues" in the native part).
//   - Older logs have no metadata: an action is a call whose name is the action's, and the observation behind it is its result.
//   - extras of an observation repeat files before and after an edit (old_content, new_content): left out.
//   - Condensation replaces events by a summary: an event and a message of type "compaction".
//   - An error that answers no call, as of a call that could not be read, is told to the model in the user's name: is_meta.
//   - recall, agent_state_changed and the like are not the model's: events.
type openhands struct {
	common
	answers map[string]string // model_response.id: the first message of it
	asked   map[string]string // tool_call_id, or an action's id: the call's id
	said    map[string]bool   // texts of messages
	waits   string            // the last call without an observation
	turns   int               // messages that were written
}

func newOpenHands(w *writer) handler {
	return &openhands{common: newCommon(w), answers: map[string]string{}, asked: map[string]string{}, said: map[string]bool{}}
}

func isOpenHands(o object) bool {
	return (o.str("action") != "" || o.str("observation") != "") && o.get("role") == nil
}

func (h *openhands) isRecord(o object) bool {
	return isOpenHands(o) && o.get("id") != nil && o.str("source") != "" && o.get("timestamp") != nil
}

func (h *openhands) starts() []string { return []string{`{"id":`} }

func (h *openhands) holds(v json.RawMessage) bool {
	if o := outline(v); o != nil {
		v = o.get("history")
	}
	e := first(v)
	if len(e) > 0 && e[0] == '[' { // the oldest logs pair an action with its observation
		e = first(e)
	}
	o := outline(e)
	return isOpenHands(o) && (o.get("args") != nil || o.get("source") != nil || o.get("content") != nil || o.get("thought") != nil || o.get("command") != nil)
}

func (h *openhands) label(v json.RawMessage) string {
	o := parseObject(v)
	if n, ok := o.obj("issue").number("number"); ok {
		return "issue-" + strconv.FormatInt(n, 10)
	}
	return o.str("instance_id")
}

func (h *openhands) conversation(v json.RawMessage) error {
	o := parseObject(v)
	if o == nil {
		return h.each(flat(v), h.record)
	}
	h.w.rep.SessionID = o.str("instance_id")
	if err := h.head("instance", o.without("history")); err != nil {
		return err
	}
	return h.each(flat(o.get("history")), h.record)
}

// flat takes the lists in a list apart.
func flat(list json.RawMessage) json.RawMessage {
	var all []json.RawMessage
	for _, v := range elements(list) {
		if in := elements(v); in != nil {
			all = append(all, in...)
		} else {
			all = append(all, v)
		}
	}
	return list2raw(all)
}

func (h *openhands) record(src source) (outcome, error) {
	o := src.obj
	if o.str("observation") != "" {
		return h.observed(src)
	}
	switch a := o.str("action"); a {
	case "system", "message":
		return h.words(src, a)
	case "condensation", "condense":
		return h.condensed(src)
	case "recall", "change_agent_state", "null", "", "condensation_request", "loop_recovery":
		return h.keep(src, firstSet(a, "unknown"))
	}
	return h.call(src)
}

// args gives what an action is about: older logs have it beside the action.
func (h *openhands) args(o object) object {
	if a := o.obj("args"); a != nil {
		return a
	}
	return o.without("action", "observation", "id", "timestamp", "source", "message", "cause", "tool_call_metadata", "llm_metrics", "is_confirmed",
		"confirmation_state", "action_risk", "keep_prompt", "kernel_init_code")
}

func (h *openhands) eventID(o object) string {
	if id := string(o.get("id")); !void(o.get("id")) {
		return "openhands-" + strings.Trim(id, `"`)
	}
	return ""
}

func (h *openhands) keep(src source, typ string) (outcome, error) {
	o := src.obj
	data := o.without("action", "observation", "id", "timestamp", "message", "cause")
	if args := o.obj("args"); h.said[args.str("query")] {
		data = append(data.without("args"), member{"args", args.without("query").said().encode()})
	}
	h.stand(h.eventID(o), h.parent(o))
	e := event{typ: typ, id: h.eventID(o), created: stamp(o.get("timestamp")), data: data.said(), native: h.native(src, o, "cause")}
	return outcome{kind: asEvent}, h.w.event(&e)
}

// parent gives the message that led to o, where the log says so.
func (h *openhands) parent(o object) string {
	if void(o.get("cause")) {
		return ""
	}
	return h.tree["openhands-"+string(o.get("cause"))]
}

func (h *openhands) start(src source, role string) *message {
	o := src.obj
	return &message{id: h.w.newID(h.eventID(o), src), role: role, created: stamp(o.get("timestamp")), parent: h.parent(o), native: h.native(src, o, "cause", "source")}
}

// write writes a message. more are members that it does not hold itself.
func (h *openhands) write(src source, m *message, more object) (outcome, error) {
	if err := h.more(&m.native, more); err != nil {
		return outcome{}, err
	}
	h.stand(h.eventID(src.obj), m.id)
	h.turns++
	return outcome{kind: asMessage}, h.w.message(m)
}

// words takes what the user, the agent or the program says.
func (h *openhands) words(src source, action string) (outcome, error) {
	args := h.args(src.obj)
	role := "assistant"
	switch {
	case action == "system":
		role = "system"
	case src.obj.str("source") == "user", src.obj.get("source") == nil && h.turns == 0:
		role = "user"
	}
	var content []json.RawMessage
	if t := args.str("content"); t != "" {
		content = append(content, textBlock(t))
		h.said[t] = true
	}
	for _, key := range []string{"image_urls", "images_urls"} {
		for _, url := range elements(args.get(key)) {
			b, err := h.w.block(object{{"type", quote("image_url")}, {"image_url", url}}.encode())
			if err != nil {
				return outcome{}, err
			}
			content = append(content, b)
		}
	}
	if len(content) == 0 {
		return h.keep(src, action)
	}
	m := h.start(src, role)
	m.content = content
	return h.write(src, m, args.without("content", "image_urls", "images_urls"))
}

// condensed takes the place where events were replaced by a summary.
func (h *openhands) condensed(src source) (outcome, error) {
	args := h.args(src.obj)
	sum := args.str("summary")
	src.obj = append(src.obj.without("args"), member{"args", args.without("summary").encode()})
	out, err := h.keep(src, "compaction")
	if err != nil || sum == "" {
		return out, err
	}
	h.w.rep.MoreEvents++ // the event stands beside the message
	m := h.start(src, "user")
	m.typ, m.content = "compaction", []json.RawMessage{textBlock(sum)}
	return h.write(src, m, nil)
}
