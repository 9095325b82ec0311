package importer

import "encoding/json"

// opencode reads what `opencode export` prints: {info, messages: [{info, parts}]}. Its server gives the list alone.
//
// What becomes of its traps:
//   - A message holds all steps of an answer, with the results of its tools (a part of type tool has call and result in
//     its state): it is written as the model saw it, an assistant's message, the results, and on. Those that go on say so
//     ("continues" in the native part); the first carries the usage.
//   - Times are milliseconds.
//   - A summary is an assistant's message with summary: true, a message of type "compaction". The compaction part that
//     asked for it is an event.
//   - A user's parts that opencode wrote (synthetic: files that were read) keep that mark; a message of nothing else is
//     is_meta.
//   - state.metadata and state.title repeat the output for the screen: what they say more is kept with the result.
//   - step-start, step-finish and snapshot only bracket the steps. patch, retry and compaction are events.
type opencode struct {
	common
	prev string // the message before: what a user's message answers
}

func newOpenCode(w *writer) handler { return &opencode{common: newCommon(w)} }

func (c *opencode) isRecord(o object) bool { return false }
func (c *opencode) starts() []string       { return nil }

func (c *opencode) holds(v json.RawMessage) bool {
	if o := outline(v); o != nil {
		if o.obj("info") == nil {
			return false
		}
		v = o.get("messages")
	}
	m := outline(first(v))
	info := outline(m.get("info"))
	return info.get("role") != nil && (info.get("sessionID") != nil || m.get("parts") != nil)
}

func (c *opencode) label(v json.RawMessage) string { return parseObject(v).obj("info").str("id") }

func (c *opencode) conversation(v json.RawMessage) error {
	o := parseObject(v)
	if o == nil {
		return c.each(v, c.record)
	}
	info, r := o.obj("info"), &c.w.rep
	r.SessionID, r.CWD, r.Title = info.str("id"), info.str("directory"), info.str("title")
	r.ClientVersion = info.str("version")
	c.w.sawTime(stamp(info.obj("time").get("created")))
	head := object{{"info", o.get("info")}}
	if err := c.head("session", append(head, o.without("info", "messages")...)); err != nil {
		return err
	}
	return c.each(o.get("messages"), c.record)
}

// record takes one message with its parts.
func (c *opencode) record(src source) (outcome, error) {
	info := src.obj.obj("info")
	a := &steps{c: c, src: src, info: info, created: stamp(info.obj("time").get("created"))}
	if a.parent = c.prev; info.str("parentID") != "" {
		a.parent = c.tree[info.str("parentID")]
	}
	if r := &c.w.rep; r.SessionID == "" {
		r.SessionID = info.str("sessionID")
	}
	for _, raw := range elements(src.obj.get("parts")) {
		if err := a.part(parseObject(raw)); err != nil {
			return outcome{}, err
		}
	}
	if err := a.flush(); err != nil {
		return outcome{}, err
	}
	c.stand(info.str("id"), a.parent)
	if a.written > 0 {
		c.prev = a.parent
		c.w.rep.MoreMessages += a.written - 1
		return outcome{kind: asMessage}, nil
	}
	if len(a.events) == 0 && info.obj("error") == nil && info != nil {
		return skip("empty"), nil
	}
	return c.note(src, "message", info.str("id"), a.created, src.obj.without("parts"))
}
