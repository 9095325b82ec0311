package record

import "slices"

// member is a key of an object with its value; both are views of the line. The key is decoded, the value is not.
type member struct{ key, val []byte }

// object holds the members of a JSON object in their order.
type object []member

// maxMembers is how many members of an object are looked at: of more, the first and the last ones. Else a line of six bytes a
// member would take ten times its size.
const maxMembers = 1 << 16

// room is how many members an object has place for before it takes memory.
type room [16]member

// get gives the value of a key, nil when there is none. Of a key that stands twice, the last counts.
func (o object) get(key string) []byte {
	for i := len(o) - 1; i >= 0; i-- {
		if string(o[i].key) == key {
			return o[i].val
		}
	}
	return nil
}

// first gives the value of the first of the keys that is there.
func (o object) first(keys ...string) []byte {
	for _, k := range keys {
		if v := o.get(k); v != nil {
			return v
		}
	}
	return nil
}

// objectOf reads an object that may have space around it; ok is false for anything else.
func objectOf(raw []byte, into object) (o object, ok bool) {
	i := space(raw, 0)
	if i == len(raw) || raw[i] != '{' {
		return into, false
	}
	o, end := members(raw, i, 1, into)
	return o, end > 0 && space(raw, end) == len(raw)
}

// members reads the object at b[i], whose members it adds to into, and gives its end; 0 when it is not valid.
func members(b []byte, i, depth int, into object) (object, int) {
	if i = space(b, i+1); i < len(b) && b[i] == '}' {
		return into, i + 1
	}
	for {
		at := i
		end := 0
		if i < len(b) && b[i] == '"' {
			end = stringEnd(b, i)
		}
		i = space(b, end)
		if end == 0 || i == len(b) || b[i] != ':' {
			return into, 0
		}
		i = space(b, i+1)
		stop := valueEnd(b, i, depth)
		if stop == 0 {
			return into, 0
		}
		if len(into) >= maxMembers {
			into = slices.Delete(into, maxMembers/4, maxMembers/2)
		}
		into = append(into, member{unquoted(b[at:end]), b[i:stop]})
		if i = space(b, stop); i == len(b) || b[i] != ',' {
			return into, closed(b, i, '}')
		}
		i = space(b, i+1)
	}
}

// closed gives the end of what should end at b[i] with c, or 0.
func closed(b []byte, i int, c byte) int {
	if i < len(b) && b[i] == c {
		return i + 1
	}
	return 0
}

// elements calls yield for each value of a list, until it gives false. raw must be valid.
func elements(raw []byte, yield func(val []byte) bool) {
	for i := space(raw, 1); i < len(raw) && raw[i] != ']'; {
		end := valueEnd(raw, i, 1)
		if end == 0 || !yield(raw[i:end]) {
			return
		}
		if i = space(raw, end); i < len(raw) && raw[i] == ',' {
			i = space(raw, i+1)
		}
	}
}
