package importer

import "encoding/json"

// gemini reads the chats of Gemini CLI: one JSON document {sessionId, messages: [...]}, or, in newer versions, the same
// as lines: a header, then messages, {"$set": ...} and {"$rewindTo": id}. It also reads saved histories, lists of
// {role, parts} as the Gemini API takes them.
//
// What becomes of its traps:
//   - Calls and results stand in the answer itself (toolCalls[].result[].functionResponse): the answer becomes a message of
//     role "assistant" and one of role "tool".
//   - A line logs a message again when it has grown, with the same id: the last counts, and the lines are merged.
//   - {"$set": {"messages": ...}} replaces the history, as a compression does: messages that were not there before are
//     written; when others are gone the first of them is of type "compaction".
//   - After {"$rewindTo": id} the conversation goes on before that message: a fork ("parent").
//   - resultDisplay shows a result once more, for the screen: kept where it is a text that says more.
//   - Parts of a saved history have no ids: calls and responses pair by name, in order.
type gemini struct {
	common
	gotten map[string]string   // id of a message: what it was
	chain  []link              // the conversation as it stands
	grows  *source             // the last message, which may be logged again
	open   map[string][]string // ids of calls without a response, by the tool's name
	calls  int                 // that had no id
}

// link is a message of the conversation: its own id and that of the message that stands for it.
type link struct{ own, id string }

func newGemini(w *writer) handler {
	return &gemini{common: newCommon(w), gotten: map[string]string{}, open: map[string][]string{}}
}

func (g *gemini) isRecord(o object) bool {
	switch {
	case o.get("$set") != nil, o.get("$rewindTo") != nil:
		return len(o) == 1
	case o.get("sessionId") != nil:
		return o.get("projectHash") != nil && o.get("startTime") != nil && o.get("type") == nil
	}
	return isGeminiType(o.str("type")) && o.str("id") != "" && o.str("timestamp") != "" && o.get("content") != nil && o.get("role") == nil
}

func isGeminiType(t string) bool { return oneOf(t, "user", "gemini", "info", "error", "warning") }

func (g *gemini) starts() []string {
	return []string{`{"id":"`, `{"sessionId":"`, `{"$set":`, `{"$rewindTo":`}
}

func (g *gemini) holds(v json.RawMessage) bool {
	if o := outline(v); o != nil {
		if list := o.get("messages"); len(list) > 0 && list[0] == '[' && o.str("sessionId") != "" && (o.get("projectHash") != nil || o.get("startTime") != nil) {
			m := outline(first(list))
			return m == nil || m.get("role") == nil
		}
		v = o.get("history")
	}
	c := outline(first(v))
	return c.get("parts") != nil && c.get("role") != nil
}

func (g *gemini) label(v json.RawMessage) string { return parseObject(v).str("sessionId") }

func (g *gemini) conversation(v json.RawMessage) error {
	o := parseObject(v)
	if o == nil {
		return g.each(v, g.content)
	}
	g.header(o)
	if err := g.head("session", o.without("messages", "history")); err != nil {
		return err
	}
	if err := g.each(o.get("messages"), g.message); err != nil {
		return err
	}
	return g.each(o.get("history"), g.content)
}

func (g *gemini) header(o object) {
	r := &g.w.rep
	r.SessionID = firstSet(r.SessionID, o.str("sessionId"))
	r.Title = firstSet(o.str("summary"), r.Title)
	g.w.sawTime(o.str("startTime"))
}

// record takes a line.
func (g *gemini) record(src source) (outcome, error) {
	o := src.obj
	if o.str("id") != "" && o.get("type") != nil {
		return g.line(src)
	}
	if err := g.flush(); err != nil {
		return outcome{}, err
	}
	switch set := o.obj("$set"); {
	case o.get("messages") != nil || set.get("messages") != nil:
		return g.replaced(src, set)
	case set != nil:
		g.header(set)
		if len(set.without("lastUpdated")) == 0 {
			return skip("lastUpdated"), nil
		}
		return g.note(src, "session", "", set.str("lastUpdated"), set)
	case o.str("$rewindTo") != "":
		g.rewind(o.str("$rewindTo"))
		return g.note(src, "rewind", "", "", object{{"to", o.get("$rewindTo")}})
	}
	g.header(o)
	return g.note(src, "session", "", o.str("startTime"), o)
}

// line takes a message, which may be logged again.
func (g *gemini) line(src source) (outcome, error) {
	if g.grows != nil && g.grows.obj.str("id") == src.obj.str("id") {
		g.grows.obj = src.obj // the place stays that of the first
		return outcome{kind: merged}, nil
	}
	if err := g.flush(); err != nil {
		return outcome{}, err
	}
	if old, ok := g.gotten[src.obj.str("id")]; ok && old == string(compact(src.obj.encode())) {
		return skip("logged again"), nil
	}
	g.grows = &src
	return outcome{kind: later}, nil
}

// flush writes the message that may grow: another record follows, or the log ends.
func (g *gemini) flush() error {
	if g.grows == nil {
		return nil
	}
	src := *g.grows
	g.grows = nil
	out, err := g.message(src)
	g.w.account(out)
	return err
}

func (g *gemini) end() error { return g.flush() }

// rewind takes the conversation back to before a message. When it is not known, all is gone.
func (g *gemini) rewind(to string) {
	for i, l := range g.chain {
		if l.own == to {
			g.chain = g.chain[:i]
			return
		}
	}
	g.chain = nil
}

// replaced takes a new history: the messages that are new to the log are written.
func (g *gemini) replaced(src source, set object) (outcome, error) {
	list := elements(firstSaid(set.get("messages"), src.obj.get("messages")))
	old := g.chain
	g.chain = nil
	gone, known := g.without(old, list)
	typ := "history"
	if gone > 0 {
		typ = "compaction"
	}
	g.w.rep.Omitted["messages of a replaced history"] += known
	data := append(set.without("messages"), member{"known", digits(known)}, member{"gone", digits(gone)}, member{"new", digits(len(list) - known)})
	if _, err := g.note(src, typ, "", set.str("lastUpdated"), data); err != nil {
		return outcome{}, err
	}
	for _, raw := range list {
		o := parseObject(raw)
		if id, ok := g.tree[o.str("id")]; ok {
			g.chain = append(g.chain, link{o.str("id"), id})
			continue
		}
		if typ == "compaction" && o.str("type") == "user" {
			o = append(o, member{"compaction", json.RawMessage("true")})
			typ = ""
		}
		if err := g.fresh(src, o); err != nil {
			return outcome{}, err
		}
	}
	return outcome{kind: asEvent}, nil
}

// without counts the messages of old that list does not hold, and those of list that are known.
func (g *gemini) without(old []link, list []json.RawMessage) (gone, known int) {
	kept := map[string]bool{}
	for _, raw := range list {
		id := parseObject(raw).str("id")
		if _, ok := g.tree[id]; ok && id != "" {
			kept[id] = true
			known++
		}
	}
	for _, l := range old {
		if !kept[l.own] {
			gone++
		}
	}
	return gone, known
}

// fresh writes a message of a new history beside the event that tells of it.
func (g *gemini) fresh(src source, o object) error {
	src.obj = o
	out, err := g.message(src)
	switch out.kind {
	case asMessage:
		g.w.rep.MoreMessages++
	case asEvent:
		g.w.rep.MoreEvents++
	}
	return err
}
