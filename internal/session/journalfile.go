package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
)

// grown takes what a control file that only grows is to hold, and gives what it holds and the lines that are new.
func (x *Session) grown(name string, data []byte) (old []byte, lines [][]byte, err error) {
	old, err = x.readFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	more, ok := bytes.CutPrefix(data, old)
	if !ok {
		return nil, nil, refuse(Invalid, "%s only grows: append a line, as with echo '...' >> %s", name, name)
	}
	for line := range bytes.Lines(more) {
		if len(bytes.TrimSpace(line)) > 0 {
			lines = append(lines, bytes.TrimSuffix(line, []byte{'\n'}))
		}
	}
	return old, lines, nil
}

// storedLines holds what stands in such a file to JSON lines.
func storedLines(x *Session, data []byte) error {
	_, err := checkLines(x, data, Caller{})
	return err
}

// readLine reads a JSON object whose members must be of the types of v.
func readLine(name string, line []byte, v any) error {
	if t := bytes.TrimSpace(line); len(t) == 0 || t[0] != '{' {
		return refuse(Invalid, "%s: a line is one JSON object, not %.40q", name, line)
	}
	if err := json.Unmarshal(line, v); err != nil {
		return refuse(Invalid, "%s: %v", name, err)
	}
	return nil
}

// oneOf holds a value to a list of words.
func oneOf(name, member, value string, words ...string) error {
	for _, w := range words {
		if value == w {
			return nil
		}
	}
	return refuse(Invalid, "%s: %q is one of %s, not %.40q", name, member, strings.Join(words, ", "), value)
}
