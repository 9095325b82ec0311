package importer

import (
	"encoding/json"
	"regexp"
	"strings"
)

// aider reads .aider.chat.history.md, to which aider appends what was said in a folder, chat after chat.
//
// A file is one session, with an event chat_start where a chat begins: its time is the only one that the log has. A source
// record is a block of lines of one kind:
//   - "#### words", two blanks at the end: the user. A command (/add, /run) and an answer to one of aider's questions is
//     is_meta; /ask, /code and /architect are the user's words.
//   - "> words", two blanks at the end: aider itself. An event, from which the model and the folder are taken.
//   - The rest: the model's answer. Headings and quotes in it lack the blanks. What it thought stands between tags, or
//     between the words THINKING and ANSWER: a block of type "thinking".
//   - "> # 1 SEARCH/REPLACE block failed to match!" and what follows, up to a line with two blanks at its end: aider's reply
//     to the model, is_meta and of type "reflection".
//
// Calls of tools are not logged: aider's edits stand in the answer's text.
type aider struct {
	common
	model string
	kind  byte // of the block that is read: '#' user, '>' aider, 'r' its reply to the model, 'a' the answer, 0 none
	lines []string
	at    int // the line that it begins in
}

func newAider(w *writer) handler { return &aider{common: newCommon(w)} }

const chatStart = "# aider chat started at "

func (a *aider) isRecord(object) bool { return false }
func (a *aider) starts() []string     { return nil }
func (a *aider) record(src source) (outcome, error) {
	return a.note(src, "unknown", "", "", src.obj)
}

func (a *aider) begins(line string) bool { return strings.HasPrefix(line, chatStart) }

func (a *aider) text(n int, line string) error {
	if a.kind == 'r' {
		return a.reply(line)
	}
	kind := kindOfLine(line)
	if kind == 's' {
		if err := a.flush(); err != nil {
			return err
		}
		return a.started(n, strings.TrimSpace(strings.TrimPrefix(line, chatStart)))
	}
	if kind != a.kind && strings.TrimSpace(line) != "" {
		if err := a.flush(); err != nil {
			return err
		}
		a.kind, a.at = kind, n
	}
	if a.kind == 'a' || strings.TrimSpace(line) != "" {
		a.lines = append(a.lines, line)
	}
	return nil
}

// reply takes a line of aider's reply to the model.
func (a *aider) reply(line string) error {
	a.lines = append(a.lines, line)
	if strings.HasSuffix(line, "  ") {
		return a.flush()
	}
	return nil
}

// kindOfLine tells whose a line is.
func kindOfLine(line string) byte {
	ends := strings.HasSuffix(line, "  ")
	switch {
	case strings.HasPrefix(line, chatStart):
		return 's'
	case ends && strings.HasPrefix(line, "####"):
		return '#'
	case ends && strings.HasPrefix(line, ">"):
		return '>'
	case reflection.MatchString(line):
		return 'r'
	}
	return 'a'
}

var reflection = regexp.MustCompile(`^> # \d+ SEARCH/REPLACE blocks? failed to match`)

// started writes the event of a chat's begin.
func (a *aider) started(n int, at string) error {
	a.w.rep.Records++
	out, err := a.note(source{line: n}, "chat_start", "", strings.Replace(at, " ", "T", 1), nil)
	a.w.account(out)
	return err
}

func (a *aider) end() error { return a.flush() }

// flush writes the block that was read.
func (a *aider) flush() error {
	kind, src := a.kind, source{line: a.at}
	said := a.words(kind)
	a.kind, a.lines = 0, nil
	if kind == 0 {
		return nil
	}
	a.w.rep.Records++
	out, err := a.write(kind, src, said)
	a.w.account(out)
	return err
}

// words gives the block's text without the marks.
func (a *aider) words(kind byte) string {
	var list []string
	for _, l := range a.lines {
		if mark := map[byte]string{'#': "####", '>': ">"}[kind]; mark != "" {
			l = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSuffix(l, "  "), mark), " ")
		}
		list = append(list, l)
	}
	return strings.Trim(strings.Join(list, "\n"), "\n")
}

func (a *aider) write(kind byte, src source, said string) (outcome, error) {
	switch {
	case kind == '>':
		a.learn(said)
		return a.note(src, "notice", "", "", object{{"text", quote(said)}})
	case strings.TrimSpace(said) == "":
		return skip("empty"), nil
	}
	m := &message{id: a.w.newID("", src), role: "user", content: []json.RawMessage{textBlock(said)}, native: a.native(src, nil)}
	switch kind {
	case 'a':
		m.role, m.model, m.content = "assistant", a.model, thoughtAndSaid(said)
	case 'r':
		m.meta, m.typ, m.content = true, "reflection", []json.RawMessage{textBlock(strings.TrimRight(strings.TrimPrefix(said, "> "), " "))}
	default:
		m.meta = isCommand(said)
	}
	return outcome{kind: asMessage}, a.w.message(m)
}

// thoughtAndSaid gives the blocks of an answer.
func thoughtAndSaid(all string) []json.RawMessage {
	thought, said := "", all
	if rest, ok := strings.CutPrefix(all, "<thinking-content-"); ok {
		tag, rest, _ := strings.Cut(rest, ">\n")
		if t, after, ok := strings.Cut(rest, "</thinking-content-"+tag+">"); ok {
			thought, said = t, after
		}
	} else if rest, ok := strings.CutPrefix(strings.TrimLeft(all, "-\n"), "► **THINKING**"); ok {
		if t, after, ok := strings.Cut(rest, "► **ANSWER**"); ok {
			thought, said = strings.TrimRight(t, "-\n"), after
		}
	}
	var blocks []json.RawMessage
	if t := strings.TrimSpace(thought); t != "" {
		blocks = append(blocks, thinking(t, "", false))
	}
	if s := strings.Trim(said, "\n"); s != "" || len(blocks) == 0 {
		blocks = append(blocks, textBlock(s))
	}
	return blocks
}

// isCommand tells whether words are for aider and not for the model.
func isCommand(said string) bool {
	if strings.HasPrefix(said, "/") {
		name, rest, _ := strings.Cut(strings.TrimSpace(said[1:]), " ")
		return !oneOf(name, "ask", "code", "architect", "context", "help") || strings.TrimSpace(rest) == ""
	}
	return question.MatchString(said)
}

// question is how aider asks; the user's answer is logged behind it.
var question = regexp.MustCompile(`^[^\n]*\(Y\)es/\(N\)o[^\n]*\]: ?[^\n]*$`)

// learn takes the model and the folder from what aider says at its start.
func (a *aider) learn(said string) {
	for _, line := range strings.Split(said, "\n") {
		for _, head := range []string{"Model: ", "Main model: ", "Models: "} {
			if rest, ok := strings.CutPrefix(line, head); ok {
				a.model, _, _ = strings.Cut(rest, " with ")
			}
		}
		if dir, ok := strings.CutPrefix(line, "Cur working dir: "); ok && a.w.rep.CWD == "" {
			a.w.rep.CWD = dir
		}
	}
}
