package intake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ctxfs/internal/importer"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// sample is a log, and the bytes of it that are logs too: how it grew.
type sample struct {
	name   string
	format importer.Format
	grown  []string // the last is all of it
}

// samples returns those of the repository: of every format.
func samples(t *testing.T) []sample {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "samples", "*"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no samples", err)
	}
	var list []sample
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		format, err := importer.Detect(data[:min(len(data), 256<<10)])
		if err != nil {
			t.Fatal(path, err)
		}
		list = append(list, sample{filepath.Base(path), format, grow(t, filepath.Base(path), string(data))})
	}
	return list
}

// grow cuts a log where it may have ended once: behind lines, or behind elements of a document's list.
func grow(t *testing.T, name, all string) []string {
	t.Helper()
	key := map[string]string{"gemini-cli.json": "messages", "opencode.json": "messages", "swe-agent.traj": "history", "messages-anthropic.json": "messages",
		"messages-openai.json": "messages", "tau-bench.json": "-"}[name]
	var list []string
	switch {
	case name == "aider.chat.history.md":
		for i := range all {
			if strings.HasPrefix(all[i:], "\n\n#### ") && !strings.HasPrefix(all[i:], "\n\n#### What changes") { // the latter is in an answer
				list = append(list, all[:i+1])
			}
		}
	case key == "":
		lines := strings.SplitAfter(all, "\n")
		for n := 1; n < len(lines); n += 1 + len(lines)/12 {
			list = append(list, strings.Join(lines[:n], ""))
		}
	default:
		ends := elements(t, all, key)
		for _, end := range ends[:len(ends)-1] {
			list = append(list, all[:end]+all[ends[len(ends)-1]:])
		}
	}
	return append(list, all)
}

// elements returns where the elements of a list end in a document: of its member key, or of itself.
func elements(t *testing.T, doc, key string) (ends []int) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(doc))
	for key != "-" {
		tok, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		if tok == key {
			break
		}
		if _, ok := tok.(json.Delim); !ok {
			var skipped json.RawMessage
			if err := dec.Decode(&skipped); err != nil {
				t.Fatal(err)
			}
		}
	}
	if tok, err := dec.Token(); err != nil || tok != json.Delim('[') {
		t.Fatal(tok, err)
	}
	for dec.More() {
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, int(dec.InputOffset()))
	}
	return ends
}

// sorted puts the lines of each log in order: messages and events that were held back come later when a log grew.
func sorted(text string) string {
	lines := strings.SplitAfter(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// TestImportAgain imports each sample twice: what is written is what the importer writes, and the second time nothing.
func TestImportAgain(t *testing.T) {
	for _, s := range samples(t) {
		all := s.grown[len(s.grown)-1]
		x := newShelf()
		first := x.must(t, "s", all, s.format)
		want := direct(t, all, s.format)
		if got := x.text(); got != want {
			t.Errorf("%s: the sessions are not what the importer writes: %s", s.name, got)
		}
		again := x.must(t, "s", all, s.format)
		if x.text() != want || len(first) != len(again) {
			t.Errorf("%s: the second import wrote something", s.name)
		}
		for i, r := range again {
			if r.Made || r.Added != (Counts{}) || !first[i].Made || r.Session != first[i].Session || first[i].Added.Messages != r.Report.Messages || first[i].Added.Events != r.Report.Events {
				t.Errorf("%s: first %+v, then %+v", s.name, first[i], r)
			}
		}
	}
}

// direct imports without an intake, all conversations.
func direct(t *testing.T, log string, format importer.Format) string {
	t.Helper()
	x := newShelf()
	_, err := importer.ImportAll(strings.NewReader(log), format, func(label string) (importer.Sink, error) {
		name := "s"
		if label != "" {
			name += "-" + label
		}
		b, err := x.Make("a", name)
		return straight{b}, err
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return x.text()
}

// straight writes all that comes.
type straight struct{ s Session }

func (d straight) Message(line []byte) error {
	return d.s.Append(Messages, append(bytes.Clone(line), '\n'))
}
func (d straight) Event(line []byte) error {
	return d.s.Append(Events, append(bytes.Clone(line), '\n'))
}
func (d straight) Blob(data []byte) (string, error) {
	b := d.s.(*book)
	before := maps.Clone(b.blobs)
	err := d.s.Blob(data)
	for id := range b.blobs {
		if !before[id] {
			return id, err
		}
	}
	for id := range b.blobs { // it was there: find it by its data
		probe := book{blobs: map[string]bool{}}
		_ = probe.Blob(data)
		if probe.blobs[id] {
			return id, err
		}
	}
	return "", err
}

// TestImportGrows imports each sample while it grows: each record comes once, whatever was imported between.
func TestImportGrows(t *testing.T) {
	for _, s := range samples(t) {
		x := newShelf()
		for _, log := range s.grown {
			x.must(t, "s", log, s.format)
		}
		got, want := said(x.text()), said(direct(t, s.grown[len(s.grown)-1], s.format))
		if !slices.Equal(got, want) {
			t.Errorf("%s in %d steps:\n got %d %.3000q\nwant %d %.3000q", s.name, len(s.grown), len(got), got, len(want), want)
		}
	}
}

// said returns the blocks of all messages, sorted: a message that was written before it was whole is two records.
func said(text string) (list []string) {
	for line := range strings.Lines(text) {
		var r struct {
			Role    string
			Content []json.RawMessage
		}
		if json.Unmarshal([]byte(line), &r) == nil && r.Role != "" {
			for _, block := range r.Content {
				// Copilot CLI says it only with the answer, which may come behind the call.
				list = append(list, r.Role+" "+regexp.MustCompile(`,"intentionSummary":"[^"]*"`).ReplaceAllString(string(block), ""))
			}
		}
	}
	slices.Sort(list)
	return list
}

// TestImportKilled kills an import at each append, before it and in the middle of it: the next import goes on, and in the
// end each record is there once.
func TestImportKilled(t *testing.T) {
	for _, s := range samples(t) {
		all := s.grown[len(s.grown)-1]
		want := sorted(direct(t, all, s.format))
		for _, torn := range []bool{false, true} {
			for kill := 1; ; kill++ {
				x := newShelf()
				x.kill, x.torn = kill, torn
				if _, err := x.take("s", all, s.format); err == nil {
					if kill == 1 {
						t.Errorf("%s: nothing was killed", s.name)
					}
					break
				}
				x.must(t, "s", all, s.format)
				if got := sorted(x.text()); got != want {
					t.Fatalf("%s, killed at append %d, torn %v:\n got %s\nwant %s", s.name, kill, torn, got, want)
				}
			}
		}
	}
}

// TestImportChanged gives a log whose earlier words changed a session of its own, and leaves alone what others wrote.
func TestImportChanged(t *testing.T) {
	log := func(words ...string) string {
		var b strings.Builder
		for i, w := range words {
			fmt.Fprintf(&b, `{"parentUuid":null,"type":"user","sessionId":"s","uuid":"u%d","timestamp":"2026-01-01T00:00:0%dZ","message":{"role":"user","content":%q}}`+"\n", i, i, w)
		}
		return b.String()
	}
	x := newShelf()
	note := `{"role":"user","content":"mine"}` + "\n"
	for i, step := range []struct {
		log     string
		session string
		made    bool
		added   int
	}{
		{log("one", "two"), "s", true, 2},
		{log("one", "two", "three"), "s", false, 1},
		{log("ONE", "two", "three"), "s-2", true, 3},
		{log("ONE", "two", "three", "four"), "s-2", false, 1},
		{log("one", "two", "three", "four"), "s", false, 1},
		{log("one"), "s", false, 0},
		{log("one", "two", "THREE", "four"), "s-3", true, 4},
	} {
		for range 2 {
			r := x.must(t, "s", step.log, importer.ClaudeCode)[0]
			if r.Session != step.session || r.Made != step.made || r.Added.Messages != step.added {
				t.Errorf("step %d: %+v, want %+v", i, r, step)
			}
			if err := x.sessions["s"].Append(Messages, []byte(note)); err != nil {
				t.Fatal(err)
			}
			step.made, step.added = false, 0
		}
	}
	if n := strings.Count(x.text(), note); n != 14 {
		t.Errorf("%d notes", n)
	}
}

// TestImportGrownMessage goes on with a message that has grown in a document that was rewritten.
func TestImportGrownMessage(t *testing.T) {
	doc := func(parts string) string {
		return `{"sessionId":"g","projectHash":"h","startTime":"2026-01-01T00:00:00Z","messages":[{"id":"m0","timestamp":"2026-01-01T00:00:00Z","type":"user","content":"go"},
			{"id":"m1","timestamp":"2026-01-01T00:00:01Z","type":"gemini","content":"well","model":"x","tokens":{"input":1}` + parts + `}]}`
	}
	calls := `,"toolCalls":[{"id":"c1","name":"ls","args":{},"result":[{"functionResponse":{"id":"c1","name":"ls","response":{"output":"a b"}}}]}`
	x := newShelf()
	for _, parts := range []string{"", calls + "]", calls + `,{"id":"c2","name":"pwd","args":{}}]`} {
		x.must(t, "s", doc(parts), importer.GeminiCLI)
	}
	got := x.sessions["s"].logs[Messages].String()
	if len(x.sessions) != 1 || strings.Count(got, `"well"`) != 1 || strings.Count(got, `"tool_use"`) != 2 || strings.Count(got, `"usage"`) != 1 || strings.Count(got, `"continues":"m1"`) != 2 {
		t.Errorf("%v: %s", sortedKeys(x.sessions), got)
	}
}

// TestImportDescribes reports what the log says of its session.
func TestImportDescribes(t *testing.T) {
	for _, s := range samples(t) {
		x := newShelf()
		for _, r := range x.must(t, "s", s.grown[len(s.grown)-1], s.format) {
			if got := x.sessions[r.Session].described; len(got) != 1 || got[0].Title != r.Report.Title || got[0].Client != r.Report.Client {
				t.Errorf("%s: described as %+v", s.name, got)
			}
		}
	}
}
