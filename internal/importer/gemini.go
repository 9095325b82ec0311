package importer

import "encoding/json"

// gemini reads the chats of Gemini CLI: one JSON document {sessionId, messages: [...]}, or, in newer versions, the same
// as lines: a header, then messages, {"$set": ...} and {"$rewindTo": id}. It also reads saved histories, lists of
// {role, parts} as the Gemini API takes them.
//
// What becomes of its traps:
//   - Calls and results are in the answer itself (toolCalls[].result[].functionResponse): the answer becomes a message of
//     role "assistant" and one of role "tool".
//   - A line logs the last message again when it has grown, with the same id, also after {"$set": {"lastUpdated": ...}}.
//     A copy that lacks its tokens or the result of a call is held back, and its copies are merged. A complete copy is
//     written at once: the program adds calls to an answer minutes after its text. What a later copy adds becomes a message
//     of its own, whose native.continues is the id of the first.
//   - A result is logged again as a user's message of functionResponses, and once more as ID_response when the program
//     resumes the session: a call and its result are written once.
//   - {"$set": {"messages": ...}} replaces the history: messages that were not there before are written. When a summary
//     replaces others, it is of type "compaction".
//   - After {"$rewindTo": id} the conversation goes on before that message: a fork ("parent").
//   - <session_context> is what the program says about the folder at every start: is_meta, of type "instructions".
//   - resultDisplay shows a result once more, for the screen: kept where it is a text that says more.
//   - Parts of a saved history have no ids: calls and responses pair by name, in order.
type gemini struct {
	common
	copies map[string]*geminiCopy // by id of the message
	chain  []link                 // the conversation as it is now
	grows  *source                // a message of which a fuller copy may follow
	lines  []int                  // of grows and its copies
	open   map[string][]string    // ids of calls without a response, by the tool's name
	done   map[string]digest      // ids of calls that were written: the call
	solved map[string]bool        // ids of calls whose result was written
	calls  int                    // that had no id
}

// geminiCopy is what was written of a message.
type geminiCopy struct {
	usage json.RawMessage
	said  map[digest]bool // texts and thoughts
}

// link is a message of the conversation: its own id and that of the message that it led to.
type link struct{ own, id string }

func newGemini(w *writer) handler {
	return &gemini{common: newCommon(w), copies: map[string]*geminiCopy{}, open: map[string][]string{}, done: map[string]digest{}, solved: map[string]bool{}}
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
	r.CWD = firstSet(r.CWD, text(first(o.get("directories"))))
	g.w.sawTime(o.str("startTime"))
}

// record takes a line.
func (g *gemini) record(src source) (outcome, error) {
	o := src.obj
	if o.str("id") != "" && o.get("type") != nil {
		return g.line(src)
	}
	set := o.obj("$set")
	if set != nil && set.get("messages") == nil { // a message may grow on behind it
		g.header(set)
		if len(set.without("lastUpdated")) == 0 {
			return skip("lastUpdated"), nil
		}
		return g.note(src, "session", "", set.str("lastUpdated"), set)
	}
	if err := g.flush(); err != nil {
		return outcome{}, err
	}
	switch {
	case o.get("messages") != nil || set != nil:
		return g.replaced(src, set)
	case o.str("$rewindTo") != "":
		g.rewind(o.str("$rewindTo"))
		return g.note(src, "rewind", "", "", object{{"to", o.get("$rewindTo")}})
	}
	g.header(o)
	return g.note(src, "session", "", o.str("startTime"), o)
}

// line takes a message, of which the log may hold several copies.
func (g *gemini) line(src source) (outcome, error) {
	out := outcome{kind: later}
	if g.grows != nil && g.grows.obj.str("id") == src.obj.str("id") {
		g.grows.obj = src.obj // the place stays that of the first
		out.kind = merged
	} else {
		if err := g.flush(); err != nil {
			return outcome{}, err
		}
		g.grows = &src
	}
	g.lines = append(g.lines, src.line)
	if !complete(src.obj) {
		return out, nil
	}
	return out, g.flush()
}

// complete reports whether o is all that the program logs of a message: an answer has its tokens, a call its result.
func complete(o object) bool {
	if o.str("type") != "gemini" {
		return true
	}
	for _, raw := range elements(o.get("toolCalls")) {
		c := parseObject(raw)
		if void(c.get("result")) && !oneOf(c.str("status"), "error", "cancelled") {
			return false
		}
	}
	return !void(o.get("tokens"))
}

// flush writes the message that may grow: another record follows, or the log ends.
func (g *gemini) flush() error {
	if g.grows == nil {
		return nil
	}
	src := *g.grows
	out, err := g.message(src)
	g.grows, g.lines = nil, nil
	g.w.account(out)
	return err
}

func (g *gemini) end() error { return g.flush() }

// cut writes the message that may grow; what its copies add makes another record.
func (g *gemini) cut() error { return g.flush() }

// settle is cut: nothing else is held back.
func (g *gemini) settle() error { return g.flush() }

func (g *gemini) waits() bool { return g.grows != nil }

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
	gone, known, summary := g.compare(list)
	g.chain = nil
	typ := "history"
	if summary >= 0 {
		typ = "compaction"
	}
	g.w.rep.Omitted["messages of a replaced history"] += known
	data := append(set.without("messages"), member{"known", digits(known)}, member{"gone", digits(gone)}, member{"new", digits(len(list) - known)})
	if _, err := g.note(src, typ, "", set.str("lastUpdated"), data); err != nil {
		return outcome{}, err
	}
	for i, raw := range list {
		o := parseObject(raw)
		if id, ok := g.tree[o.str("id")]; ok {
			g.chain = append(g.chain, link{o.str("id"), id})
			continue
		}
		if summary >= 0 && i >= summary {
			o = asSummary(o, i == summary)
		}
		if err := g.fresh(src, o); err != nil {
			return outcome{}, err
		}
	}
	return outcome{kind: asEvent}, nil
}

// compare counts the messages of the conversation that list lacks, and those of list that are known. summary is the index of
// the first new message that has words of its own, -1 where no message is gone: then nothing was summarized.
func (g *gemini) compare(list []json.RawMessage) (gone, known, summary int) {
	kept := map[string]bool{}
	summary = -1
	for i, raw := range list {
		o := parseObject(raw)
		id := o.str("id")
		if _, ok := g.tree[id]; ok && id != "" {
			kept[id] = true
			known++
		} else if words := geminiWords(o); summary < 0 && o.str("type") == "user" && words != "" && !geminiContext(words) {
			summary = i
		}
	}
	for _, l := range g.chain {
		if !kept[l.own] {
			gone++
		}
	}
	if gone == 0 {
		summary = -1
	}
	return gone, known, summary
}

// asSummary marks a new message of a compressed history: the summary, or the answer that the program puts behind it.
func asSummary(o object, first bool) object {
	if first {
		return append(o, member{"compaction", json.RawMessage("true")})
	}
	if o.str("type") != "user" && o.get("tokens") == nil {
		return append(o, member{"synthetic", json.RawMessage("true")})
	}
	return o
}

// fresh writes a message of a new history beside the event about it.
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
