package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []Setting
		err        string
	}{
		{"empty", "", nil, ""},
		{"comments", "# a\n ; b\n\n", nil, ""},
		{"all", "store = /s\n[mount]\nbudget=8000\n\tquota\t=\t10G \n[session list]\r\nx = a = b # c\r\n", []Setting{
			{"", "store", "/s", 1}, {"mount", "budget", "8000", 3}, {"mount", "quota", "10G", 4}, {"session list", "x", "a = b # c", 6}}, ""},
		{"empty value", "[a]\nk =\n", []Setting{{"a", "k", "", 2}}, ""},
		{"a section again", "[a]\nk = 1\n[b]\nk = 2\n[a]\nl = 3\n", []Setting{{"a", "k", "1", 2}, {"b", "k", "2", 4}, {"a", "l", "3", 6}}, ""},
		{"twice", "[a]\nk = 1\n[b]\n[a]\nk = 2", []Setting{{"a", "k", "1", 2}}, "line 5: k is set in line 2 already"},
		{"no value", "[a]\nbudget 8000", nil, `line 2: not [section], key = value, or # comment: "budget 8000"`},
		{"capitals", "Budget = 1", nil, "line 1: not [section]"},
		{"open heading", "[a", nil, "line 1: not [section]"},
		{"several", "x\n\ny\n", nil, "line 1: not [section], key = value, or # comment: \"x\"\nline 3: "},
		{"no text", "k = \xff\n", nil, "line 1: not text"},
		{"NUL", "k = a\x00b\n", nil, "line 1: not text"},
		{"too long", strings.Repeat("#\n", MaxSize/2+1), nil, "longer than"},
	} {
		got, err := Parse([]byte(c.text))
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want %q", c.name, err, c.err)
		}
	}
}

// What was read, written out again, is read as the same.
func FuzzParse(f *testing.F) {
	f.Add("store = /s\n[mount]\nbudget=8000\n# c\n[a b]\nk=\n")
	f.Add("[a]\nk = 1\n[a]\nk = 2")
	f.Fuzz(func(t *testing.T, text string) {
		first, err := Parse([]byte(text))
		if err != nil {
			return
		}
		var out strings.Builder
		for _, s := range first {
			if s.Section != "" {
				out.WriteString("[" + s.Section + "]\n")
			}
			out.WriteString(s.Key + "=" + s.Value + "\n")
		}
		again, err := Parse([]byte(out.String()))
		if err != nil || len(again) != len(first) {
			t.Fatalf("%q: %v, %v", text, again, err)
		}
		for i := range again {
			again[i].Line = first[i].Line
		}
		if !reflect.DeepEqual(first, again) {
			t.Errorf("%v, again %v", first, again)
		}
	})
}
