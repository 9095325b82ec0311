package importer

// attachment takes what Claude Code sent along with a user's turn. A queued prompt is a message; the rest are events.
func (c *claude) attachment(src source) (outcome, error) {
	o := src.obj
	a := o.obj("attachment")
	if err := c.where(src); err != nil {
		return outcome{}, err
	}
	if a.str("type") == "queued_command" && !void(a.get("prompt")) {
		return c.queued(src, a)
	}
	if !tells(a) {
		return c.drop(src, "attachment without content")
	}
	return c.keep(src, "attachment", a)
}

// queued writes a prompt that was typed, or a note that a task sent, while the agent worked.
func (c *claude) queued(src source, a object) (outcome, error) {
	blocks, err := c.w.blocks(a.get("prompt"))
	if err != nil {
		return outcome{}, err
	}
	if err := c.flush(); err != nil {
		return outcome{}, err
	}
	o := src.obj
	c.begin(o)
	m := message{id: c.w.newID(o.str("uuid"), src), role: "user", content: blocks, created: o.str("timestamp"),
		parent: c.parent(o), sidechain: c.sidechain(o), native: c.native(src)}
	m.meta = a.str("commandMode") == "task-notification" || claudeMeta(blocks)
	m.native.all(a.without("prompt"))
	c.stand(o, m.id)
	c.childAsked(&m)
	c.agentNotified(textsOf(blocks))
	return outcome{kind: asMessage}, c.w.message(&m)
}

// tells tells whether an attachment says anything beside what it is and how much of it there is.
func tells(a object) bool {
	for _, m := range a.without("type", "itemCount", "isInitial", "skillCount", "toolUseID", "hookName", "hookEvent", "durationMs",
		"command", "exitCode") {
		if !void(m.val) {
			return true
		}
	}
	return false
}

// system takes a note of the program itself.
func (c *claude) system(src source) (outcome, error) {
	o := src.obj
	sub := o.str("subtype")
	if oneOf(sub, "turn_duration", "stop_hook_summary") { // the turn is over, and so is its last message
		if err := c.flush(); err != nil {
			return outcome{}, err
		}
	}
	switch sub {
	case "turn_duration":
		return c.drop(src, sub)
	case "stop_hook_summary":
		if void(o.get("hookErrors")) && void(o.get("hookAdditionalContext")) && !o.truth("preventedContinuation") {
			return c.drop(src, "stop_hook_summary without errors")
		}
	case "compact_boundary":
		c.boundary = o.get("compactMetadata")
		sub = "compaction"
	}
	if err := c.where(src); err != nil {
		return outcome{}, err
	}
	return c.keep(src, firstSet(sub, "system"), c.payload(o).without("subtype"))
}

// progress takes a sign of life of a running tool. Only what a child agent said is new: the rest repeats what the
// tool's result will hold, or tells the time.
func (c *claude) progress(src source) (outcome, error) {
	o := src.obj
	data := o.obj("data")
	m := data.obj("message").obj("message")
	if data.str("hookEvent") == "Stop" { // the turn is over
		if err := c.flush(); err != nil {
			return outcome{}, err
		}
	}
	if data.str("type") != "agent_progress" || void(m.get("content")) {
		return c.drop(src, "progress")
	}
	var said object
	for _, k := range []string{"role", "model", "content"} {
		if v := m.get(k); !void(v) {
			said = append(said, member{k, v})
		}
	}
	payload := object{{"agentId", data.get("agentId")}, {"toolUseID", o.get("parentToolUseID")},
		{"uuid", data.obj("message").get("uuid")}, {"message", said.encode()}}
	c.w.rep.Omitted["agent_progress prompt"]++
	return c.keep(src, "agent_progress", payload)
}

// queue takes what happened to the queue of prompts; what left it comes again as a message.
func (c *claude) queue(src source) (outcome, error) {
	if void(src.obj.get("content")) {
		return c.drop(src, "queue-operation without content")
	}
	c.agentNotified(src.obj.str("content"))
	return c.keep(src, "queue-operation", c.payload(src.obj))
}

func (c *claude) noise(src source) (outcome, error) { return c.drop(src, src.obj.str("type")) }

// summary takes a title that Claude Code made for the session that ends in leafUuid, often another one than this.
func (c *claude) summary(src source) (outcome, error) {
	c.titles = append(c.titles, leafTitle{src.obj.str("leafUuid"), src.obj.str("summary")})
	return c.keep(src, "summary", c.payload(src.obj))
}

// atTurnEnd takes a note that Claude Code writes when a turn is over, and last-prompt at other times too.
func (c *claude) atTurnEnd(src source) (outcome, error) {
	if !c.turnGoesOn() {
		if err := c.flush(); err != nil {
			return outcome{}, err
		}
	}
	return c.note(src)
}

// note takes a record that is logged again whenever the session is opened: only a change is news.
func (c *claude) note(src source) (outcome, error) {
	o := src.obj
	typ, data := o.str("type"), c.payload(o)
	now := string(data.encode())
	if c.last[typ] == now {
		return c.drop(src, typ+" unchanged")
	}
	c.last[typ] = now
	if t := o.str("customTitle"); t != "" {
		c.w.rep.Title, c.named = t, true
	}
	return c.keep(src, typ, data)
}
