package record

import (
	"strings"
	"unsafe"
)

// Args are the members of a JSON object in a text, as of a tool call's arguments. Of a key that stands twice, the last
// counts.
type Args struct {
	members object
	room    room
}

// Read reads text; it tells whether that is one whole JSON object.
func (a *Args) Read(text string) bool {
	members, ok := objectOf(unsafe.Slice(unsafe.StringData(text), len(text)), a.room[:0]) // which nothing writes to
	if a.members = members; !ok {
		a.members = nil
	}
	return ok
}

// Raw gives the JSON value of a key, "" when there is none.
func (a *Args) Raw(key string) string { return string(a.members.get(key)) }

// Text gives the text of a key, and whether its value is a string.
func (a *Args) Text(key string) (string, bool) {
	raw := a.members.get(key)
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return text(raw), true
}

// Like yields the JSON values of the keys that are key but for upper and lower case, in order.
func (a *Args) Like(key string, yield func(raw string)) {
	for _, m := range a.members {
		if strings.EqualFold(string(m.key), key) {
			yield(string(m.val))
		}
	}
}
