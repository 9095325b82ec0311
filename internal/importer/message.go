package importer

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// message is a line of messages.jsonl before it is written.
type message struct {
	id, role  string
	name      string // of the speaker
	content   []json.RawMessage
	created   string
	parent    string
	model     string
	usage     json.RawMessage
	sidechain bool
	meta      bool
	replayed  bool // of the session that this one was forked from
	typ       string
	native    builder
}

// instructions is the type of a message that a program sends to the model at the start of every session, whoever the user is:
// its prompt, its tools' manuals, what it knows of the machine and the folder.
const instructions = "instructions"

// message writes m. Its id must come from newID. In place of one that no log takes stands one that names it: what follows
// answers it.
func (w *writer) message(m *message) error {
	line := m.line()
	if len(line) > w.most {
		ref, err := w.whole(line)
		if err != nil {
			return err
		}
		said := "[a message of " + strconv.Itoa(len(line)) + " bytes, more than a record holds: " + parseObject(ref).str("ref") + "]"
		m = &message{id: m.id, role: m.role, created: m.created, parent: m.parent, sidechain: m.sidechain, meta: m.meta, replayed: m.replayed, typ: m.typ,
			content: []json.RawMessage{textBlock(said)}, native: placed(line)}
		m.native.raw("too_large", ref)
		line = m.line()
	}
	w.look(m)
	w.sawTime(m.created)
	w.rep.Messages++
	return w.sink.Message(line)
}

func (m *message) line() []byte {
	var l builder
	l.str("id", m.id)
	l.str("role", m.role)
	l.str("name", m.name)
	l.raw("content", list2raw(m.content))
	l.str("created_at", m.created)
	l.str("parent", m.parent)
	l.str("model", m.model)
	l.raw("usage", m.usage)
	l.yes("sidechain", m.sidechain)
	l.yes("is_meta", m.meta)
	l.yes("replayed", m.replayed)
	l.str("type", m.typ)
	l.raw("native", m.native.end())
	return compact(l.end())
}

// look takes notes of m for the report.
func (w *writer) look(m *message) {
	if m.role == "assistant" && !m.sidechain && !m.meta && m.model != "" {
		w.rep.Model = m.model
	}
	for _, raw := range m.content {
		b := parseObject(raw)
		switch b.str("type") {
		case "tool_use":
			w.mark(b.str("id"), 1)
		case "tool_result":
			w.mark(b.str("tool_use_id"), 2)
		case "text":
			if (w.says == "" || w.fork && !m.replayed) && m.role == "user" && !m.meta && !m.sidechain && m.typ == "" {
				w.says, w.fork = title(b.str("text")), m.replayed
			}
		}
	}
}

func (w *writer) mark(call string, bit uint8) {
	if call != "" {
		w.tool[call] |= bit
	}
}

// newID gives id itself, or a name derived from src when id is empty or taken.
func (w *writer) newID(id string, src source) string {
	if id == "" {
		id = src.name(string(w.rep.Format) + "-")
	}
	for w.used[id] {
		id += src.name("#")
	}
	w.used[id] = true
	return id
}

// title shortens words to one line of at most 80 characters. A slash command reads as it was typed. It cuts no ASCII word: who
// masks the title later finds a secret only whole.
func title(words string) string {
	if _, cmd, ok := strings.Cut(words, "<command-name>"); ok && strings.HasPrefix(words, "<command-") {
		name, _, _ := strings.Cut(cmd, "</command-name>")
		_, args, _ := strings.Cut(cmd, "<command-args>")
		args, _, _ = strings.Cut(args, "</command-args>")
		words = name + " " + args
	}
	line := strings.Join(strings.Fields(words), " ")
	if r := []rune(line); len(r) > 80 {
		end := 79
		inWord := func(c rune) bool { return c > ' ' && c < utf8.RuneSelf }
		for cut := inWord(r[end]); cut && end > 0 && inWord(r[end-1]); {
			end--
		}
		return strings.TrimSpace(string(r[:end])) + "…"
	}
	return line
}
