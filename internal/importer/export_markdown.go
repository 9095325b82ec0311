package importer

import (
	"encoding/json"
	"strconv"
	"strings"
)

// markdown writes a session for people to read. It is not read back.
type markdown struct{ *exporter }

func (x *markdown) begin() error {
	return x.put([]byte("# " + oneLine(firstSet(x.in.Name, "Session")) + "\n"))
}

func (x *markdown) end() error { return nil }

// oneLine keeps a heading on its line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (x *markdown) message(s *utterance) error {
	x.rep.Messages++
	head := "\n## " + strconv.Itoa(s.n) + ". " + oneLine(firstSet(s.name, s.role))
	for _, more := range []string{s.typ, s.model, s.created} {
		if more != "" {
			head += " · " + oneLine(more)
		}
	}
	if s.sidechain {
		head += " · side chain"
	}
	if s.meta {
		head += " · written by a program"
	}
	if err := x.put([]byte(head + "\n")); err != nil {
		return err
	}
	for _, raw := range s.content {
		if err := x.put([]byte("\n" + x.block(raw) + "\n")); err != nil {
			return err
		}
	}
	return nil
}

func (x *markdown) block(raw json.RawMessage) string {
	b := parseObject(raw)
	switch b.str("type") {
	case "text":
		return b.str("text")
	case "thinking":
		return "> *Thinking*\n>\n> " + strings.ReplaceAll(firstSet(strings.TrimSpace(b.str("thinking")), "(not readable)"), "\n", "\n> ")
	case "tool_use", "server_tool_use":
		return "**Call " + oneLine(b.str("name")) + "** `" + oneLine(b.str("id")) + "`\n\n" + fenced("json", string(b.get("input")))
	case "tool_result":
		head := "**Result** `" + oneLine(b.str("tool_use_id")) + "`"
		if b.truth("is_error") {
			head = "**Failed** `" + oneLine(b.str("tool_use_id")) + "`"
		}
		return head + "\n\n" + x.result(b.get("content"))
	}
	if isMedia(b) {
		return "*" + parseObject(placeholder(b)).str("text") + "*"
	}
	return fenced("json", string(raw))
}

func (x *markdown) result(content json.RawMessage) string {
	list := elements(content)
	if list == nil {
		return fenced("", text(content))
	}
	var parts []string
	for _, raw := range list {
		if b := parseObject(raw); b.str("type") == "text" {
			parts = append(parts, fenced("", b.str("text")))
		} else {
			parts = append(parts, x.block(raw))
		}
	}
	return strings.Join(parts, "\n\n")
}

// fenced puts text between fences that are longer than any in it.
func fenced(lang, s string) string {
	longest, run := 2, 0
	for _, c := range s {
		if run++; c != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	return fence + lang + "\n" + strings.TrimSuffix(s, "\n") + "\n" + fence
}
