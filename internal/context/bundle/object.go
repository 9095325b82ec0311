package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// object reads the fields of one object, and tells what is wrong with them.
type object struct {
	*finder
	at     Problem
	fields []field
	taken  map[string]bool
}

func (f *finder) object(at Problem, raw []byte) *object {
	o := &object{finder: f, at: at, taken: map[string]bool{}}
	var ok bool
	if o.fields, ok = fieldsOf(raw); !ok {
		f.tell(at, "is not a JSON object", "write an object in braces here")
		return nil
	}
	return o
}

// take gives the JSON of a field; nil, and a problem, when a required one is absent.
func (o *object) take(name string, required bool) json.RawMessage {
	o.taken[name] = true
	v := Foreign{o.fields}.Get(name)
	if !required && bytes.Equal(v, []byte("null")) {
		return nil
	}
	if v == nil && required {
		o.tell(o.at, "has no "+name, "add "+name+", which the format requires")
	}
	return v
}

// text reads a string of any length.
func (o *object) text(name string, required bool) string {
	v := o.take(name, required)
	if v == nil {
		return ""
	}
	s, bad, ok := stringOf(v)
	if !ok {
		o.tell(o.at, name+" is "+short(string(v))+", not a string", "write it as a string in quotes")
	} else if bad != "" {
		o.tell(o.at, name+" "+bad, "take that character out")
	}
	return s
}

// line reads a string of one line and at most limit bytes.
func (o *object) line(name string, limit int, required bool) string {
	before := len(o.found)
	s := o.text(name, required)
	if len(o.found) > before {
		return ""
	}
	return o.fits(name, s, limit, required)
}

func (o *object) fits(name, s string, limit int, required bool) string {
	switch {
	case required && s == "":
		o.tell(o.at, name+" is empty", "give it a value")
	case len(s) > limit:
		o.tell(o.at, fmt.Sprintf("%s has %d bytes", name, len(s)), fmt.Sprintf("keep it within %d", limit))
	case strings.ContainsFunc(s, unicode.IsControl):
		o.tell(o.at, name+" "+short(s)+" holds a control character", "keep it to one plain line")
	default:
		return s
	}
	return ""
}

// one reads a string that is one of a few.
func (o *object) one(name string, of ...string) string {
	before := len(o.found)
	s := o.text(name, true)
	if len(o.found) == before && !slices.Contains(of, s) {
		o.tell(o.at, "unknown "+name+" "+short(s), "use one of "+strings.Join(of, ", "))
	}
	return s
}

// time reads a time, which keeps its spelling.
func (o *object) time(name string) string {
	before := len(o.found)
	s := o.text(name, true)
	if len(o.found) == before && !isTime(s) {
		o.tell(o.at, name+" "+short(s)+" is not a time of RFC 3339", "write it as 2026-06-21T08:30:00Z")
	}
	return s
}

// isTime tells whether s is a time of RFC 3339, whose letters may be small. UnmarshalText is stricter than time.Parse.
func isTime(s string) bool {
	var t time.Time
	return len(s) <= 64 && t.UnmarshalText([]byte(strings.ToUpper(s))) == nil
}

// count reads a number of tokens.
func (o *object) count(name string) int {
	v := o.take(name, true)
	if v == nil {
		return 0
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || n < 0 || n > MaxTokens {
		o.tell(o.at, name+" is "+short(string(v)), fmt.Sprintf("write a whole number from 0 to %d", int64(MaxTokens)))
		return 0
	}
	return int(n)
}

// number reads a number.
func (o *object) number(name string, required bool) Number {
	v := o.take(name, required)
	if v == nil {
		return Number{}
	}
	f, err := strconv.ParseFloat(string(v), 64) // JSON has no other word that this reads: not NaN, not 0x1p2
	if err != nil || math.IsInf(f, 0) {
		o.tell(o.at, name+" is "+short(string(v))+", not a number", "write a number that a float64 holds")
		return Number{}
	}
	return Number{string(v)}
}

// rest gives the fields that nobody took.
func (o *object) rest() Foreign {
	var f Foreign
	for _, x := range o.fields {
		if !o.taken[x.name] {
			f.fields = append(f.fields, x)
		}
	}
	return f
}
