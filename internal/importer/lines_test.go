package importer

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// importText imports a log given as text.
func importText(t testing.TB, f Format, log string) (*memSink, Report) {
	t.Helper()
	sink := &memSink{}
	rep, err := Import(strings.NewReader(log), f, sink, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkImport(t, sink, rep)
	return sink, rep
}

// said is a Claude Code record with the words s.
func said(uuid, s string) string {
	return fmt.Sprintf(`{"parentUuid":null,"type":"user","sessionId":"s","uuid":%q,"message":{"role":"user","content":%q}}`, uuid, s)
}

// TestTornLines imports lines that are not what they should be. Whole records on them count, and no byte is lost.
func TestTornLines(t *testing.T) {
	a, b := said("a", "one"), said("b", "two")
	cut := a[:len(a)-9]
	deep := `{"type":"user","x":` + strings.Repeat("[", 9500) + strings.Repeat("]", 9500) + "}"
	for _, c := range []struct {
		name, log string
		records   int
		bad       map[string]int
		raw       string // of the first import_error
	}{
		{"blank lines and CRLF", "\n" + a + "\r\n\t\n" + b + "\n", 2, nil, ""},
		{"byte order mark", "\uFEFF" + a + "\n", 1, nil, ""},
		{"no newline at the end", a + "\n" + b, 2, nil, ""},
		{"two on a line", a + b + "\n", 2, nil, ""},
		{"three on a line, spaced", a + " " + b + "\t" + said("c", "three") + "\n", 3, nil, ""},
		{"torn last line", a + "\n" + cut, 1, map[string]int{badTorn: 1}, cut},
		{"torn, with newline", cut + "\n" + b + "\n", 1, map[string]int{badJSON: 1}, cut},
		{"torn, next on the same line", cut + b + "\n", 1, map[string]int{badJSON: 1}, cut},
		{"torn inside a content block", `{"type":"user","message":{"content":[{"type":"text","text":"x"},{"type":"te` + b + "\n", 1,
			map[string]int{badJSON: 1}, `{"type":"user","message":{"content":[{"type":"text","text":"x"},{"type":"te`},
		{"NUL block before a record", strings.Repeat("\x00", 512) + a + "\n", 1, map[string]int{badNUL: 1}, strings.Repeat("\x00", 512)},
		{"NUL block alone", a + "\n" + strings.Repeat("\x00", 7), 1, map[string]int{badNUL: 1}, strings.Repeat("\x00", 7)},
		{"text", "hello\n" + a, 1, map[string]int{badJSON: 1}, "hello"},
		{"a bare number", "12\n" + a, 1, map[string]int{badObject: 1}, "12"},
		{"a list", "[1]\n" + a, 1, map[string]int{badObject: 1}, "[1]"},
		{"a stray bracket", a + "}\n", 1, map[string]int{badJSON: 1}, "}"},
		{"too deep", deep + "\n" + a, 1, map[string]int{badDeep: 1}, deep},
		{"not UTF-8 inside a string", strings.Replace(a, "one", "o\xffe", 1) + "\n", 1, map[string]int{badUTF8: 1}, strings.Replace(a, "one", "o\xffe", 1)},
		{"not UTF-8 at all", "\xff\xfe\n" + a, 1, map[string]int{badUTF8: 1}, "\xff\xfe"},
		{"nothing", "", 0, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			sink, rep := importText(t, ClaudeCode, c.log)
			if rep.Records != c.records || fmt.Sprint(rep.Bad) != fmt.Sprint(orEmpty(c.bad)) {
				t.Errorf("%d records, bad %v; want %d, %v", rep.Records, rep.Bad, c.records, c.bad)
			}
			if got := firstRaw(t, sink); got != c.raw {
				t.Errorf("kept %.80q, want %.80q", got, c.raw)
			}
		})
	}
}

func orEmpty(m map[string]int) map[string]int {
	if m == nil {
		return map[string]int{}
	}
	return m
}

// firstRaw gives the bytes that the first import_error keeps.
func firstRaw(t *testing.T, sink *memSink) string {
	t.Helper()
	for _, line := range sink.events {
		var e struct{ Type, Raw, Encoding string }
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e.Type != "import_error" {
			continue
		}
		if e.Encoding != "base64" {
			return e.Raw
		}
		raw, err := base64.StdEncoding.DecodeString(e.Raw)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	return ""
}

// TestSalvageEnds sees that a line of nothing but false starts is given up, and given up whole.
func TestSalvageEnds(t *testing.T) {
	log := `{"type":"x` + strings.Repeat(`{"type":"user"} `, 10*maxTries)
	sink, rep := importText(t, ClaudeCode, log+"\n")
	if rep.Records != 0 || sum(rep.Bad) != 1 || firstRaw(t, sink) != strings.TrimSpace(log) {
		t.Errorf("%s", rep)
	}
}

// failing fails at the given call.
type failing struct{ message, event, blob error }

func (f *failing) Message([]byte) error        { return f.message }
func (f *failing) Event([]byte) error          { return f.event }
func (f *failing) Blob([]byte) (string, error) { return "blake3-00", f.blob }

// TestErrors sees that what fails around an import stops it, and is told.
func TestErrors(t *testing.T) {
	full := errors.New("disk full")
	picture := `{"type":"user","sessionId":"s","message":{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}}`
	for name, c := range map[string]struct {
		s   Sink
		r   io.Reader
		f   Format
		err error
	}{
		"message":        {&failing{message: full}, strings.NewReader(said("a", "x")), ClaudeCode, full},
		"event":          {&failing{event: full}, strings.NewReader("torn"), ClaudeCode, full},
		"blob":           {&failing{blob: full}, strings.NewReader(picture), ClaudeCode, full},
		"last message":   {&failing{message: full}, strings.NewReader(strings.ReplaceAll(said("a", "x"), `"user"`, `"assistant"`)), ClaudeCode, full},
		"reader":         {&memSink{}, io.MultiReader(strings.NewReader(said("a", "x")+"\n"), broken{}), ClaudeCode, io.ErrClosedPipe},
		"unknown format": {&memSink{}, strings.NewReader(""), "tea-leaves", ErrFormat},
	} {
		if _, err := Import(c.r, c.f, c.s, nil); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }
