package record

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// ErrNotObject is the reason why a line is not a record: it is not one JSON object in valid UTF-8.
var ErrNotObject = errors.New("not a JSON object")

// Check tells whether line (with or without its '\n') is one whole JSON object in valid UTF-8, and so may be
// committed to a log. Its error wraps ErrNotObject.
func Check(line []byte) error {
	t := bytes.TrimLeft(line, " \t\r\n")
	if len(t) == 0 {
		return fmt.Errorf("%w: the line is empty", ErrNotObject)
	}
	if t[0] != '{' {
		return fmt.Errorf("%w: it starts with %q", ErrNotObject, t[0])
	}
	if !utf8.Valid(line) {
		return fmt.Errorf("%w: it is not valid UTF-8", ErrNotObject)
	}
	if end := valueEnd(t, 0, 0); end == 0 || space(t, end) != len(t) {
		return fmt.Errorf("%w: it is not valid JSON", ErrNotObject)
	}
	return nil
}

// Parse reads one line of a log as record number n at byte offset off. Fields of an unexpected type are
// passed over, never an error: the log is truth, and a field that ctxfs does not know must not hide a record.
func Parse(line []byte, n int, off int64) (Record, error) {
	r := Record{N: n, Off: off, Len: len(line)}
	var place room
	top, ok := objectOf(line, place[:0])
	if !ok {
		return r, fmt.Errorf("messages:%d: %w", n, ErrNotObject)
	}
	fields(&r, top)
	if r.Role == "" {
		unwrap(&r, top)
	}
	if len(r.Blocks) == 0 {
		r.Blocks = contentBlocks(&r, top)
	}
	return r, nil
}

// fields reads what stands beside the content.
func fields(r *Record, top object) {
	r.ID = firstString(top, "id", "uuid")
	r.Parent = firstString(top, "parent", "parent_id", "parentUuid")
	r.Role = firstString(top, "role")
	r.Name = firstString(top, "name", "speaker")
	r.Type = firstString(top, "type")
	r.Time = firstTime(top, "created_at", "timestamp", "time", "ts")
	r.Compaction = r.Type == "compaction" || isTrue(top.get("isCompactSummary"))
	r.Sidechain = isTrue(top.get("sidechain")) || isTrue(top.get("isSidechain"))
	r.Meta = isTrue(top.get("is_meta")) || isTrue(top.get("isMeta"))
	r.Incomplete = isTrue(top.get("incomplete"))
	r.Replayed = isTrue(top.get("replayed"))
	if v := top.get("visibility"); len(v) > 0 && v[0] == '[' {
		r.Visibility = []string{}
		elements(v, func(val []byte) bool {
			r.Visibility = append(r.Visibility, str(val))
			return len(r.Visibility) < maxVisibility
		})
	}
}

// maxVisibility is how many targets of one line are read.
const maxVisibility = 16

// unwrap reads a line whose message stands under "message", as coding agents log it.
func unwrap(r *Record, top object) {
	var place room
	inner, ok := objectOf(top.get("message"), place[:0])
	if !ok {
		return
	}
	r.Role = firstString(inner, "role")
	r.Blocks = contentBlocks(r, inner)
}

func firstString(o object, keys ...string) string {
	for _, k := range keys {
		if s := str(o.get(k)); s != "" {
			return s
		}
	}
	return ""
}

// str gives a JSON string's value, a number's or boolean's text, and nothing for the rest.
func str(raw []byte) string {
	if len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || raw[0] == 'n' {
		return ""
	}
	if raw[0] != '"' {
		return string(raw)
	}
	return text(raw)
}

func isTrue(raw []byte) bool { return string(raw) == "true" }

func firstTime(o object, keys ...string) time.Time {
	for _, k := range keys {
		if t := parseTime(o.get(k)); !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// parseTime reads RFC 3339 text, or a Unix time in seconds or milliseconds (told apart by size).
func parseTime(raw []byte) time.Time {
	if len(raw) == 0 {
		return time.Time{}
	}
	if raw[0] == '"' {
		s := str(raw)
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05", "2006-01-02"} {
			if t, err := time.Parse(layout, strings.TrimSpace(s)); err == nil {
				return t.UTC()
			}
		}
		return time.Time{}
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f <= 0 || f > 1e14 {
		return time.Time{}
	}
	if f > 1e11 {
		return time.UnixMilli(int64(f)).UTC()
	}
	return time.Unix(int64(f), int64((f-float64(int64(f)))*1e9)).UTC()
}
