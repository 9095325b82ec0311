package importer

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// claudePlan is the first pass over a session. It decides in which order the model gets the records and which blocks it
// gets.
//
// Claude Code reads a log by walking parentUuid from the last record, whatever the order of the lines. It sends a result
// only if the result follows the message with its call, and it takes adjacent assistant records for one message only if
// they share message.id. So the plan links all records, side chains apart, into one chain: the assistant records between
// two turns of the user, then the results of their calls, then the rest. The lines keep the order of the session.
type claudePlan struct {
	records  []planned
	turns    []turn
	open     map[string]call // by the session's id of the call
	names    map[string]bool // ids of calls in the log
	uuids    map[string]bool
	compacts []int // indices of compactions
	boundary int   // index of the compaction that the model's history begins with; -1 when it gets the whole
}

// claudeWindow is how much of a history is sent to the model, in bytes of its blocks: about 100,000 tokens, which leaves
// half of the window for Claude Code and for what comes next.
const claudeWindow = 400_000

// planned is what the plan holds of one record.
type planned struct {
	uuid      string
	parent    string   // uuid of the record before it in the chain
	prev      int      // index of the record before it in the chain; -1 for the first
	own       string   // message.id of an assistant record by itself
	messageID string   // message.id that it shares with the adjacent ones
	calls     []string // for each tool_use and tool_result block the call's id in the log; "" for a block that is not sent
	sent      bool     // the record holds a block that is sent
	size      int      // bytes of its blocks, pictures apart
}

// turn is a part of the chain: indices of records. A turn ends with the next assistant record behind results or words.
type turn struct {
	answers, results, rest []int
	closed                 bool
}

// call is a call whose result the plan has not met.
type call struct {
	id                  string // in the log
	turn, record, block int
}

func newClaudePlan() *claudePlan {
	return &claudePlan{turns: make([]turn, 1), open: map[string]call{}, names: map[string]bool{}, uuids: map[string]bool{}, boundary: -1}
}

// add plans the next record of the session.
func (p *claudePlan) add(s *utterance) {
	i := len(p.records)
	r := planned{size: s.size(), uuid: unique(p.uuids, firstSet(s.id, source{line: s.n}.name("ctxfs-"))), prev: -1}
	r.own = s.messageID(r.uuid)
	r.messageID = r.own
	if !s.sidechain {
		p.place(i, &r, s)
	}
	p.records = append(p.records, r)
}

// place puts record i into the chain.
func (p *claudePlan) place(i int, r *planned, s *utterance) {
	words := claudeWords(s)
	t := &p.turns[len(p.turns)-1]
	switch {
	case s.compaction() && words:
		p.turns = append(p.turns, turn{rest: []int{i}, closed: true})
		p.open, p.compacts = map[string]call{}, append(p.compacts, i)
	case s.note():
		words = false
		t.rest = append(t.rest, i)
	case s.answer():
		if t.closed {
			p.turns = append(p.turns, turn{})
			t = &p.turns[len(p.turns)-1]
		}
		t.answers = append(t.answers, i)
		p.called(i, r, s)
	default:
		p.said(i, r, s)
	}
	r.sent = words
}

// called opens the calls of assistant record i.
func (p *claudePlan) called(i int, r *planned, s *utterance) {
	for _, raw := range s.content {
		switch b := parseObject(raw); b.str("type") {
		case "tool_use":
			id := unique(p.names, apiName(b.str("id")))
			p.open[b.str("id")] = call{id: id, turn: len(p.turns) - 1, record: i, block: len(r.calls)}
			r.calls = append(r.calls, "")
		case "tool_result":
			r.calls = append(r.calls, "")
		}
	}
}

// said puts a user's record behind the calls that it answers, or at the end of the turn. All results of a record belong
// to one turn; those of another turn are not sent.
func (p *claudePlan) said(i int, r *planned, s *utterance) {
	home := -1
	for _, raw := range s.content {
		b := parseObject(raw)
		if !oneOf(b.str("type"), "tool_use", "tool_result") {
			continue
		}
		c, ok := p.open[b.str("tool_use_id")]
		if ok = ok && b.str("type") == "tool_result" && (home < 0 || home == c.turn); !ok {
			r.calls = append(r.calls, "")
			continue
		}
		delete(p.open, b.str("tool_use_id"))
		home = c.turn
		p.records[c.record].calls[c.block] = c.id
		r.calls = append(r.calls, c.id)
	}
	last := &p.turns[len(p.turns)-1]
	if last.closed = true; home < 0 {
		last.rest = append(last.rest, i)
		return
	}
	p.turns[home].results = append(p.turns[home].results, i)
}

// link chains the records. It is called after the last add.
func (p *claudePlan) link() {
	p.cut()
	prev := -1
	for i := range p.turns {
		t := &p.turns[i]
		for k, at := range t.answers {
			if k > 0 {
				p.records[at].messageID = p.records[t.answers[0]].own
			}
		}
		for _, list := range [][]int{t.answers, t.results, t.rest} {
			for _, at := range list {
				r := &p.records[at]
				r.sent = r.sent || strings.Join(r.calls, "") != ""
				r.prev, r.parent = prev, p.id(prev)
				prev = at
			}
		}
	}
}

// cut finds where the model's history begins: at the first compaction from which on it fits into the window, at the last
// compaction when none does.
func (p *claudePlan) cut() {
	rest := make([]int, len(p.records)+1) // bytes from a record on
	for i := len(p.records) - 1; i >= 0; i-- {
		rest[i] = rest[i+1] + p.records[i].size
	}
	if rest[0] <= claudeWindow {
		return
	}
	for _, at := range p.compacts {
		if p.boundary = at; rest[at] <= claudeWindow {
			return
		}
	}
}

// size returns the bytes of a record's blocks, pictures and side chains apart.
func (s *utterance) size() int {
	n := 0
	for _, raw := range s.content {
		if !s.sidechain && !s.note() && !isMedia(parseObject(raw)) {
			n += len(raw)
		}
	}
	return n
}

// id returns the uuid of record i; "" for none.
func (p *claudePlan) id(i int) string {
	if i < 0 {
		return ""
	}
	return p.records[i].uuid
}

// messageID returns message.id of an assistant record with that uuid. Records of one API message that are apart stay
// apart: only the first has its id.
func (s *utterance) messageID(uuid string) string {
	if s.native.str("format") == string(ClaudeCode) && s.native.str("continues") == "" {
		return firstSet(s.native.str("message_id"), uuid)
	}
	return uuid
}

// note reports whether Claude Code keeps a record of that role from the model.
func (s *utterance) note() bool { return oneOf(s.role, "system", "developer") }

// answer reports whether a record is written as the model's.
func (s *utterance) answer() bool { return s.role == "assistant" && !s.compaction() && !s.note() }

// claudeWords reports whether a record holds a block that is sent without a call: all but blank text, thoughts that the
// API did not sign, calls and results.
func claudeWords(s *utterance) bool {
	for _, raw := range s.content {
		if b := parseObject(raw); !oneOf(b.str("type"), "tool_use", "tool_result") && !unsendable(b) {
			return true
		}
	}
	return false
}

// unsendable reports whether the API refuses a request for that text or thought.
func unsendable(b object) bool {
	switch b.str("type") {
	case "text":
		return strings.TrimSpace(b.str("text")) == ""
	case "thinking":
		return b.str("signature") == ""
	}
	return false
}

// unique returns name, or name with a number behind it when used has it, and adds it to used.
func unique(used map[string]bool, name string) string {
	id := name
	for n := 2; used[id]; n++ {
		id = name + "-" + strconv.Itoa(n)
	}
	used[id] = true
	return id
}

// apiName returns s as the API takes it for an id or a name: letters, digits, _ and -, at least one, at most 128.
func apiName(s string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
	return firstSet(clean[:min(len(clean), 120)], "_")
}

// ClaudeSession returns the id under which Claude Code resumes a session: id itself when it is a UUID, which Claude Code
// demands, else a UUID derived from it.
func ClaudeSession(id string) string {
	if isUUID(id) {
		return id
	}
	sum := sha256.Sum256([]byte("ctxfs " + id))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // version 8, for ids of one's own making
	h := hex.EncodeToString(sum[:16])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

func isUUID(s string) bool {
	parts := strings.Split(s, "-")
	if len(s) != 36 || len(parts) != 5 || len(parts[0]) != 8 || len(parts[1]) != 4 || len(parts[2]) != 4 || len(parts[3]) != 4 {
		return false
	}
	_, err := hex.DecodeString(strings.Join(parts, ""))
	return err == nil
}
