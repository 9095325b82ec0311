package tests

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ctxfs/tests/testhost"

	"golang.org/x/sys/unix"
)

// badLine is something written to a log in one write(2).
type badLine struct {
	name, line string // the line ends in '\n' unless it has one
	refused    bool   // EINVAL, and in quarantine; else it stands in the log as it was written
	shows      string // what history and pack then show of it
}

func badLines() []badLine {
	const max = 9_999 // levels below the object's own
	says := func(content string) string { return `{"role":"user","content":` + content + `}` }
	nested := func(n int) string {
		return `{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `,"content":"nested"}`
	}
	inner := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	var keys strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&keys, `"k%d":%d,`, i, i)
	}
	refused := func(name, line string) badLine { return badLine{name: name, line: line, refused: true} }
	return []badLine{
		refused("a NUL", says("\"a\x00b\"")),
		refused("only NULs", "\x00\x00\x00\x00"),
		{name: "an escaped NUL", line: says(`"nul\u0000here"`), shows: "nul\x00here"},
		refused("a byte that is no UTF-8", says("\"\xff\"")),
		refused("UTF-8 that is cut off", says("\"\xe4\xbd\"")),
		refused("an overlong slash", says("\"\xc0\xaf\"")),
		refused("a surrogate in UTF-8", says("\"\xed\xa0\x80\"")),
		refused("a rune over U+10FFFF", says("\"\xf4\x90\x80\x80\"")),
		refused("no UTF-8 in a key", "{\"\xff\":1}"),
		{name: "half a surrogate pair", line: says(`"half\ud800end"`), shows: "half\ufffdend"},
		{name: "a pair the wrong way round", line: says(`"pair\udc00\ud800end"`), shows: "pair\ufffd\ufffdend"},
		{name: "a pair", line: says(`"\ud83d\ude00 pair"`), shows: "\U0001F600 pair"},
		refused("half an escape", says(`"\u12"`)),
		refused("an unknown escape", says(`"\x41"`)),
		{name: "deepest arrays", line: nested(max), shows: "nested"},
		refused("arrays too deep", nested(max+1)),
		{name: "deepest objects", line: inner(max + 1)},
		refused("objects too deep", inner(max+2)),
		{name: "a key twice", line: `{"role":"user","content":"the first","content":"the second"}`, shows: "the second"},
		{name: "a role twice", line: `{"role":"assistant","role":"user","content":"two roles"}`, shows: "two roles"},
		{name: "huge numbers", line: `{"role":"user","content":"huge","a":1e400,"b":-1e-400,"c":` + strings.Repeat("9", 400) + `,"d":-0,"e":0.` + strings.Repeat("0", 400) + `1}`, shows: "huge"},
		{name: "huge token counts", line: `{"role":"assistant","content":"counted","usage":{"input_tokens":1e400,"output_tokens":` + strings.Repeat("9", 400) + `,"total_tokens":-1}}`, shows: "counted"},
		{name: "huge times", line: `{"role":"user","content":"late","created_at":1e308,"ts":-5e300,"time":"999999-01-01T00:00:00Z"}`, shows: "late"},
		refused("a number that starts with 0", `{"a":01}`),
		refused("a plus sign", `{"a":+1}`),
		refused("no digit before the point", `{"a":.5}`),
		refused("NaN", `{"a":NaN}`),
		refused("infinity", `{"a":-Infinity}`),
		refused("hexadecimal", `{"a":0x10}`),
		refused("a BOM", "\xef\xbb\xbf"+says(`"bom"`)),
		{name: "a BOM in a text", line: says("\"\ufeffbom\""), shows: "bom"},
		{name: "CR LF", line: says(`"crlf"`) + "\r", shows: "crlf"},
		{name: "spaces and tabs around it", line: " \t" + says(`"spaces"`) + "\t \r", shows: "spaces"},
		refused("no-break spaces around it", "\u00a0"+says(`"nbsp"`)),
		refused("an escape sequence", says("\"\x1b[2J\"")),
		refused("a tab in a text", says("\"a\tb\"")),
		refused("a bell in a key", "{\"\x07\":1}"),
		{name: "an escaped escape sequence", line: says(`"red\u001b[31m"`), shows: "red\x1b[31m"},
		{name: "DEL, C1 and bidi signs", line: says("\"del\x7f\u0085\u202eend\""), shows: "del\x7f\u0085\u202eend"},
		{name: "line separators", line: says("\"a\u2028b\u2029c\""), shows: "a\u2028b\u2029c"},
		{name: "100,000 keys", line: "{" + keys.String() + `"role":"user","content":"many keys"}`, shows: "many keys"},
		{name: "a key of 4 MB", line: `{"` + strings.Repeat("k", 4<<20) + `":1,"role":"user","content":"a long key"}`, shows: "a long key"},
		{name: "an empty key", line: `{"":"","role":"user","content":"no key"}`, shows: "no key"},
		{name: "an empty object", line: "{}"},
		{name: "other types", line: `{"role":{"a":1},"content":7,"name":[],"created_at":{},"tool_calls":"x","type":null}`, shows: "7"},
		{name: "content of content", line: `{"role":["user"],"content":{"content":{"content":[[[]]]}}}`},
		refused("nothing", ""),
		refused("a space", " "),
		refused("null", "null"),
		refused("true", "true"),
		refused("a number", "17"),
		refused("a string", `"text"`),
		refused("a list", `[{"role":"user"}]`),
		refused("two objects", "{}{}"),
		refused("two objects and a comma", "{},{}"),
		refused("a comma at the end", `{"a":1,}`),
		refused("single quotes", `{'a':1}`),
		refused("no quotes", `{a:1}`),
		refused("a comment", `{"a":1} // x`),
		refused("half an object", `{"role":"user","content":"half`),
		refused("a brace too many", "{}}"),
	}
}

// TestBadLines writes each of them to a log. What is taken stands there byte for byte, what is refused is in quarantine byte for
// byte, and the lines around it are what they were; history and pack show what a JSON parser reads.
func TestBadLines(t *testing.T) {
	m := newMount(t, "--budget", "50000")
	for _, log := range []string{"messages.jsonl", "events.jsonl"} {
		dir := m.session("bad-" + strings.TrimSuffix(log, ".jsonl"))
		var want strings.Builder
		var aside []string
		put := func(line string) {
			add(t, dir+"/"+log, line)
			want.WriteString(line)
		}
		put(message("user", "before"))
		for i, c := range badLines() {
			err := tryAdd(dir+"/"+log, c.line+"\n")
			if c.refused {
				wants(t, c.name, err, syscall.EINVAL)
				aside = append(aside, c.line+"\n")
			} else if err != nil {
				t.Errorf("%s: %v", c.name, err)
			} else {
				want.WriteString(c.line + "\n")
			}
			put(message("user", fmt.Sprintf("after %d", i)))
		}
		if got := withoutOurs(read(t, dir+"/"+log)); got != want.String() {
			t.Errorf("%s has %d bytes, want %d", log, len(got), want.Len())
		}
		checkQuarantine(t, m, dir, aside)
		if log == "messages.jsonl" {
			checkShown(t, m, dir)
		}
		if read(t, dir+"/context/pack.md") == "" {
			t.Error("no pack")
		}
	}
}

// withoutOurs leaves out the events that ctxfs wrote itself.
func withoutOurs(log string) string {
	var b strings.Builder
	for line := range strings.Lines(log) {
		if !strings.Contains(line, `"type":"ctxfs.`) {
			b.WriteString(line)
		}
	}
	return b.String()
}

func checkShown(t *testing.T, m *mount, dir string) {
	t.Helper()
	history := run(t, "history", "coder", "--session", filepath.Base(dir), "--mount", m.point, "--json")
	plain := run(t, "history", "coder", "--session", filepath.Base(dir), "--mount", m.point)
	pack := read(t, dir+"/context/pack@99000.md")
	for _, c := range badLines() {
		if c.shows == "" {
			continue
		}
		if !c.refused && !strings.Contains(history, strings.TrimRight(c.line, "\r\t ")) && len(c.line) < 1000 {
			t.Errorf("%s: history --json does not have the line", c.name)
		}
		if word := strings.FieldsFunc(c.shows, func(r rune) bool { return r < ' ' || r > '~' || r == '[' })[0]; !strings.Contains(plain, word) || !strings.Contains(pack, word) {
			t.Errorf("%s: %q is in history: %v, in the pack: %v", c.name, word, strings.Contains(plain, word), strings.Contains(pack, word))
		}
	}
	for _, text := range []string{"the first", "bom\x00", "\x1b", "\u202e"} {
		if strings.Contains(plain, text) {
			t.Errorf("history shows %q", text)
		}
	}
	if strings.Contains(pack, "the first") {
		t.Error("the pack shows the first of two contents")
	}
}

// TestHundredMegabytes: one write(2) of a line that is too long. The kernel says how much was taken before the refusal, EFBIG is the
// answer to the rest, all of it is in quarantine, and the next line goes in.
func TestHundredMegabytes(t *testing.T) {
	if testhost.Race {
		t.Skip("SKIP: many times slower under the race detector")
	}
	m := newMount(t)
	dir := m.session("long")
	log := dir + "/messages.jsonl"
	add(t, log, message("user", "before"))
	fd, err := unix.Open(log, unix.O_WRONLY|unix.O_APPEND, 0)
	must(t, err)
	line := append(append([]byte(`{"role":"user","content":"`), bytes.Repeat([]byte("0123456789abcdef"), 100<<20/16)...), "\"}\n"...)
	taken := 0
	for taken < len(line) {
		n, err := unix.Write(fd, line[taken:])
		if err != nil {
			wants(t, "the rest", err, syscall.EFBIG)
			break
		}
		taken += n
	}
	if taken < 60<<20 || taken >= 64<<20 {
		t.Errorf("%d bytes were taken before the refusal", taken)
	}
	refused := 0
	for rest := line[taken:]; len(rest) > 0; { // a program that does not look at errors goes on
		n := min(1<<20, len(rest))
		if _, err := unix.Write(fd, rest[:n]); errors.Is(err, unix.EFBIG) {
			refused++
		}
		rest = rest[n:]
	}
	_, err = unix.Write(fd, []byte(message("user", "after")))
	must(t, errors.Join(err, unix.Close(fd)))
	if want := message("user", "before") + message("user", "after"); read(t, log) != want {
		t.Errorf("the log: %.200q", read(t, log))
	}
	if kept := m.quarantined(); refused < 36 || kept < int64(len(line)) || kept > int64(len(line))+2<<20 {
		t.Errorf("%d writes refused, %d bytes in quarantine of %d", refused, kept, len(line))
	}
}

// quarantined is how many bytes were set aside.
func (m *mount) quarantined() (n int64) {
	m.t.Helper()
	files, err := filepath.Glob(m.store + "/home/*/.ctxfs/quarantine/*")
	must(m.t, err)
	for _, f := range files {
		st, err := os.Stat(f)
		must(m.t, err)
		n += st.Size()
	}
	return n
}
