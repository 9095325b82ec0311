// Package config reads files of settings: `key = value` lines under `[section]` headings, as systemd and git write them.
package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Setting is one line of a file.
type Setting struct {
	Section string // "" above the first heading
	Key     string
	Value   string // as written, without the white space around it
	Line    int    // from 1
}

// MaxSize is how long a file may be, in bytes.
const MaxSize = 1 << 20

var (
	heading = regexp.MustCompile(`^\[([a-z][a-z0-9-]*(?: [a-z][a-z0-9-]*)*)\]$`)
	keyLine = regexp.MustCompile(`^([a-z][a-z0-9-]*)[ \t]*=[ \t]*(.*)$`)
)

// Parse reads a file. Empty lines, and those that begin with # or ;, say nothing. A section may come more than once, a key of it
// may not. Every line that is wrong is told: the error joins ones that begin with "line N: ".
func Parse(data []byte) ([]Setting, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("line 1: the file is longer than %d bytes", MaxSize)
	}
	var out []Setting
	var errs []error
	section, seen := "", map[[2]string]int{}
	for i, line := range strings.Split(string(data), "\n") {
		number := i + 1
		line = strings.TrimSpace(line)
		key := keyLine.FindStringSubmatch(line)
		head := heading.FindStringSubmatch(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case !utf8.ValidString(line) || strings.ContainsRune(line, 0):
			errs = append(errs, fmt.Errorf("line %d: not text", number))
		case head != nil:
			section = head[1]
		case key == nil:
			errs = append(errs, fmt.Errorf("line %d: not [section], key = value, or # comment: %.60q", number, line))
		case seen[[2]string{section, key[1]}] > 0:
			errs = append(errs, fmt.Errorf("line %d: %s is set in line %d already", number, key[1], seen[[2]string{section, key[1]}]))
		default:
			seen[[2]string{section, key[1]}] = number
			out = append(out, Setting{Section: section, Key: key[1], Value: key[2], Line: number})
		}
	}
	return out, errors.Join(errs...)
}
