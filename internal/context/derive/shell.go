package derive

import (
	"encoding/json"
	"strings"

	"ctxfs/internal/record"
)

// Touched lists the files that a tool call names: as arguments, or as what a shell command prints.
func Touched(b *record.Block) []string {
	if p := Paths(b); len(p) > 0 {
		return p
	}
	return printed(command(b.Input))
}

// command gives the command line of a call of a shell: a string, or a list of words.
func command(input string) string {
	var in struct{ Cmd, Command json.RawMessage }
	if json.Unmarshal([]byte(input), &in) != nil {
		return ""
	}
	for _, raw := range []json.RawMessage{in.Cmd, in.Command} {
		var line string
		var words []string
		switch {
		case json.Unmarshal(raw, &line) == nil && line != "":
			return line
		case json.Unmarshal(raw, &words) == nil && len(words) > 0:
			return words[len(words)-1] // sh -c LINE
		}
	}
	return ""
}

// maxCommand is how much of a command line is looked at, in bytes.
const maxCommand = 4 << 10

// printed lists the files that a command line prints with one of the usual tools. It knows no quoting of blanks, no
// variables and no patterns: what it cannot read is not listed.
func printed(line string) []string {
	var out []string
	line = strings.NewReplacer("&&", "\n", "||", "\n", "|", "\n", ";", "\n").Replace(line[:min(len(line), maxCommand)])
	for _, part := range strings.Split(line, "\n") {
		words := strings.Fields(part)
		if len(words) < 2 || !prints(words) {
			continue
		}
		for _, w := range words[1:] {
			if strings.ContainsAny(w, "<>") {
				break
			}
			if p := strings.Trim(w, `"'`); isPath(p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// prints tells whether a simple command prints the files that it is given.
func prints(words []string) bool {
	switch words[0] {
	case "cat", "nl", "head", "tail", "less", "more", "bat":
		return true
	case "sed":
		return len(words) > 2 && words[1] == "-n"
	}
	return false
}

func isPath(w string) bool {
	return len(w) > 2 && w[0] != '-' && strings.ContainsAny(w, "./") && !strings.ContainsAny(w, "*?$`(){}[]\\,&=\"'") && w != "/dev/null"
}
