package importer

import (
	"encoding/json"
	"strconv"
)

// member is one member of a JSON object: its key, decoded, and the bytes of its value.
type member struct {
	key string
	val json.RawMessage
}

// object is a JSON object in the order in which it was written, so that what is passed through reads as it did. Its
// values alias the line that they came from.
type object []member

// parseObject reads the members of the object at the start of raw. It also takes an object that is cut off, and gives
// the members that are whole. It gives nil for what is no object.
func parseObject(raw []byte) object { return members(raw, false) }

// outline is parseObject, but gives the member that the cut is in too, with what there is of its value.
func outline(raw []byte) object { return members(raw, true) }

func members(raw []byte, cut bool) object {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return nil
	}
	o := object{}
	for i++; ; i++ {
		i = skipSpace(raw, i)
		end := skipValue(raw, i)
		if end < 0 || raw[i] != '"' {
			return o
		}
		key := text(raw[i:end])
		if i = skipSpace(raw, end); i >= len(raw) || raw[i] != ':' {
			return o
		}
		i = skipSpace(raw, i+1)
		if end = skipValue(raw, i); end < 0 {
			if cut {
				o = append(o, member{key, raw[i:]})
			}
			return o
		}
		o = append(o, member{key, raw[i:end]})
		if i = skipSpace(raw, end); i >= len(raw) || raw[i] != ',' {
			return o
		}
	}
}

// elements reads the values of a JSON list, without one that is cut off; nil for what is no list.
func elements(raw []byte) []json.RawMessage { return values(raw, false) }

// first gives the first value of a list, which may be cut off; nil when there is none.
func first(raw []byte) json.RawMessage {
	if list := values(raw, true); len(list) > 0 {
		return list[0]
	}
	return nil
}

func values(raw []byte, cut bool) []json.RawMessage {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != '[' {
		return nil
	}
	list := []json.RawMessage{}
	for i++; ; i++ {
		i = skipSpace(raw, i)
		end := skipValue(raw, i)
		if end <= i {
			if cut && i < len(raw) && raw[i] != ']' {
				list = append(list, raw[i:])
			}
			return list
		}
		list = append(list, raw[i:end])
		if cut {
			return list
		}
		if i = skipSpace(raw, end); i >= len(raw) || raw[i] != ',' {
			return list
		}
	}
}

// get gives the value of key, nil when there is none. As with encoding/json, the last of two wins.
func (o object) get(key string) json.RawMessage {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].key == key {
			return o[i].val
		}
	}
	return nil
}

// str gives the value of key when it is a string.
func (o object) str(key string) string { return text(o.get(key)) }

// obj gives the value of key when it is an object.
func (o object) obj(key string) object { return parseObject(o.get(key)) }

// truth tells whether key is true.
func (o object) truth(key string) bool { return string(o.get(key)) == "true" }

// number gives the value of key when it is a whole number.
func (o object) number(key string) (int64, bool) {
	n, err := strconv.ParseInt(string(o.get(key)), 10, 64)
	return n, err == nil
}

// without gives o less some members.
func (o object) without(keys ...string) object {
	var rest object
	for _, m := range o {
		if !oneOf(m.key, keys...) {
			rest = append(rest, m)
		}
	}
	return rest
}

// text decodes a JSON string; "" for what is none.
func text(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// void tells whether a value says nothing: null, "", [], {}, false, or none at all.
func void(raw []byte) bool {
	switch string(raw) {
	case "", "null", `""`, "[]", "{}", "false":
		return true
	}
	return false
}

func oneOf(s string, list ...string) bool {
	for _, l := range list {
		if s == l {
			return true
		}
	}
	return false
}
