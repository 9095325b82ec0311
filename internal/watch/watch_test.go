package watch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ctxfs/internal/cas"
	"ctxfs/internal/importer"
	"ctxfs/internal/intake"
)

// The logs of a session.
const (
	Messages = intake.Messages
	Events   = intake.Events
)

// memStore keeps sessions in memory.
type memStore struct {
	sessions map[string]*memSession // by agent/name
	fail     int                    // which Append from now on fails, counted from 1; 0: none
	torn     bool                   // it fails after some of its lines
	err      error                  // that it fails with; nil: errKilled
	appends  int                    // so far
	made     int
	here     Here
	away     error // nil: it can be reached
}

type memSession struct {
	st    *memStore
	id    string
	logs  map[string]*bytes.Buffer
	blobs map[string]bool
	child map[string]map[string]string // by id and name
	about []importer.Report            // what it was described as
}

func newMemStore() *memStore { return &memStore{sessions: map[string]*memSession{}} }

func (m *memStore) Open(agent, name string) (intake.Session, error) {
	if s := m.sessions[agent+"/"+name]; s != nil {
		return s, nil
	}
	return nil, fs.ErrNotExist
}

func (m *memStore) Make(agent, name string) (intake.Session, error) {
	if m.sessions[agent+"/"+name] != nil {
		return nil, fs.ErrExist
	}
	m.made++
	s := &memSession{st: m, id: fmt.Sprint("id-", m.made), logs: map[string]*bytes.Buffer{Messages: {}, Events: {}}, blobs: map[string]bool{}, child: map[string]map[string]string{}}
	m.sessions[agent+"/"+name] = s
	return s, nil
}

func (m *memStore) Mark(agent, name string) (intake.Mark, error) {
	if s := m.sessions[agent+"/"+name]; s != nil {
		return s.Mark()
	}
	return intake.Mark{}, fs.ErrNotExist
}

func (m *memStore) Names(agent string) (map[string]string, error) {
	names := map[string]string{}
	for name, s := range m.sessions {
		if name, ok := strings.CutPrefix(name, agent+"/"); ok {
			names[s.id] = name
		}
	}
	return names, nil
}

func (m *memStore) Child(agent, name, id string) (map[string]string, error) {
	s := m.sessions[agent+"/"+name]
	if s == nil {
		return nil, fs.ErrNotExist
	}
	if strings.ContainsAny(id, "/ ") {
		return nil, fs.ErrInvalid
	}
	return maps.Clone(s.child[id]), nil
}

func (m *memStore) SetChild(agent, name, id string, files []File) error {
	s := m.sessions[agent+"/"+name]
	if s == nil {
		return fs.ErrNotExist
	}
	if s.child[id] == nil {
		s.child[id] = map[string]string{}
	}
	for _, f := range files {
		m.appends++
		if m.fail > 0 {
			if m.fail--; m.fail == 0 {
				return errKilled
			}
		}
		s.child[id][f.Name] = f.Text
	}
	return nil
}

func (m *memStore) Here() (Here, error) { return m.here, m.away }

func (s *memSession) Mark() (intake.Mark, error) {
	return intake.Mark{ID: s.id, Messages: int64(s.logs[Messages].Len()), Events: int64(s.logs[Events].Len())}, nil
}

func (s *memSession) Read(log string, fn func([]byte) error) error {
	for line := range bytes.Lines(s.logs[log].Bytes()) {
		if err := fn(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			return err
		}
	}
	return nil
}

var errKilled = errors.New("killed")

func (s *memSession) Append(log string, lines []byte) error {
	s.st.appends++
	if s.st.fail > 0 {
		if s.st.fail--; s.st.fail == 0 {
			if s.st.torn {
				lines = lines[:bytes.IndexByte(lines, '\n')+1]
				s.logs[log].Write(lines)
			}
			if s.st.err != nil {
				return s.st.err
			}
			return errKilled
		}
	}
	s.logs[log].Write(lines)
	return nil
}

func (s *memSession) Blob(data []byte) error { s.blobs[cas.Sum(data).String()] = true; return nil }
func (s *memSession) Describe(rep importer.Report) error {
	s.about = append(s.about, rep)
	return nil
}
func (s *memSession) Sync() error  { return nil }
func (s *memSession) Close() error { return nil }

// world is a folder of logs and a store.
type world struct {
	t     *testing.T
	dir   string
	store *memStore
	fresh bool // the state file is not read
	told  []string
	quiet time.Duration // that settles a log
}

func newWorld(t *testing.T) *world {
	return &world{t: t, dir: t.TempDir(), store: newMemStore(), fresh: true, quiet: 20 * time.Millisecond}
}

func (w *world) watcher() *Watcher {
	w.t.Helper()
	x, err := New(Config{Sources: []Source{{Root: filepath.Join(w.dir, "logs")}}, State: filepath.Join(w.dir, "state", "watch.json"), Fresh: w.fresh,
		Name: func(p string, n int) string {
			name := strings.TrimSuffix(filepath.Base(p), ".jsonl")
			if n > 1 {
				name += fmt.Sprint("-", n)
			}
			return name
		},
		Tell:   func(format string, args ...any) { w.told = append(w.told, fmt.Sprintf(format, args...)) },
		Settle: w.quiet, Sync: 10 * time.Millisecond, Poll: 50 * time.Millisecond, Idle: time.Hour}, w.store)
	if err != nil {
		w.t.Fatal(err)
	}
	return x
}

// write makes a log.
func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, "logs", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) once() {
	w.t.Helper()
	if err := w.watcher().Once(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) log(session, name string) string {
	w.t.Helper()
	s := w.store.sessions[session]
	if s == nil {
		w.t.Fatalf("there is no session %s", session)
	}
	return s.logs[name].String()
}

// said is a Claude Code record; answer one of the model's.
func said(uuid, words string) string {
	return fmt.Sprintf(`{"parentUuid":null,"type":"user","sessionId":"s","uuid":%q,"timestamp":"2026-01-01T00:00:%02dZ","message":{"role":"user","content":%q}}`+"\n", uuid, len(uuid), words)
}

func answer(uuid, mid, words string) string {
	return fmt.Sprintf(`{"parentUuid":null,"type":"assistant","sessionId":"s","uuid":%q,"timestamp":"2026-01-01T00:01:00Z","message":{"id":%q,"role":"assistant","content":[{"type":"text","text":%q}],"usage":{"output_tokens":%d}}}`+"\n",
		uuid, mid, words, len(words))
}

// words gives the texts of a log, in order.
func words(t *testing.T, log string) string {
	t.Helper()
	var list []string
	for line := range strings.Lines(log) {
		var m struct {
			Content []struct{ Text string }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, c := range m.Content {
			texts = append(texts, c.Text)
		}
		list = append(list, strings.Join(texts, "+"))
	}
	return strings.Join(list, " ")
}

// TestGrows follows a log that grows, through restarts.
func TestGrows(t *testing.T) {
	w := newWorld(t)
	log := ""
	for _, step := range []struct{ add, want string }{
		{"", ""},
		{said("a", "one"), "one"},
		{"", "one"},
		{said("bb", "two")[:40], "one"}, // half a line
		{said("bb", "two")[40:], "one two"},
		{answer("c", "m", "three"), "one two three"},
		{answer("d", "m", "four") + answer("e", "m", "five"), "one two three four+five"}, // it went on after it was settled
		{"torn\n" + said("ffff", "six"), "one two three four+five six"},
		{said("ggggg", "seven") + said("hhhhhh", "eight"), "one two three four+five six seven eight"},
	} {
		log += step.add
		w.write("p/s.jsonl", log)
		for range 2 { // with and without the state file
			w.once()
			w.fresh = !w.fresh
		}
		if step.want == "" {
			if len(w.store.sessions) != 0 {
				t.Errorf("a session of nothing")
			}
			continue
		}
		if got := words(t, w.log("claude-code/s", Messages)); got != step.want {
			t.Errorf("after %q: %s, want %s", step.add, got, step.want)
		}
	}
	if n := strings.Count(w.log("claude-code/s", Events), `"import_error"`); n != 1 {
		t.Errorf("%d events of the torn line", n)
	}
	if n := strings.Count(w.log("claude-code/s", Messages), `"continues":"c"`); n != 1 {
		t.Errorf("%d records say that they continue", n)
	}
	if len(w.store.sessions) != 1 || len(w.told) > 0 {
		t.Errorf("sessions %v, told %q", w.store.sessions, w.told)
	}
}

// TestReplaced sees what becomes of logs that are not what they were.
func TestReplaced(t *testing.T) {
	first := said("a", "one") + said("bb", "two")
	for _, c := range []struct {
		name  string
		steps []string
		want  map[string]string
	}{
		{"another log", []string{first, said("xxx", "x") + said("yyyy", "y") + said("zzzzz", "z")}, map[string]string{"s": "one two", "s-2": "x y z"}},
		{"a shorter one", []string{first, said("xxx", "x")}, map[string]string{"s": "one two", "s-2": "x"}},
		{"and it grows", []string{first, said("xxx", "x"), said("xxx", "x") + said("yyyy", "y")}, map[string]string{"s": "one two", "s-2": "x y"}},
		{"back to the first", []string{first, said("xxx", "x"), first + said("ccc", "three")}, map[string]string{"s": "one two three", "s-2": "x"}},
		{"a third", []string{first, said("xxx", "x"), said("qqqqqqq", "q")}, map[string]string{"s": "one two", "s-2": "x", "s-3": "q"}},
		{"cut off", []string{first, said("a", "one"), ""}, map[string]string{"s": "one two"}},
		{"cut off, then as it was", []string{first, said("a", "one"), first, first + said("ccc", "three")}, map[string]string{"s": "one two three"}},
		{"cut off, then another", []string{first, said("a", "one"), said("a", "one") + said("xxx", "x")}, map[string]string{"s": "one two", "s-2": "one x"}},
		{"the same ids at other lines", []string{first, "\n" + first}, map[string]string{"s": "one two", "s-2": "one two"}},
	} {
		for _, restart := range []bool{true, false} {
			w := newWorld(t)
			x := w.watcher()
			for _, text := range c.steps {
				w.write("s.jsonl", text)
				if restart {
					w.once()
				} else {
					w.follow(x)
				}
			}
			got := map[string]string{}
			for name, s := range w.store.sessions {
				got[strings.TrimPrefix(name, "claude-code/")] = words(t, s.logs[Messages].String())
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%s, restarted %v: %v, want %v; told %q", c.name, restart, got, c.want, w.told)
			}
		}
	}
}

// logsIn lists the logs.
func logsIn(x *Watcher) []found {
	list, _ := x.find()
	return list
}

// follow has a watcher that keeps running read what is there.
func (w *world) follow(x *Watcher) {
	w.t.Helper()
	for range 2 { // the second finds another session, if the first is another log's
		for _, log := range logsIn(x) {
			x.tell(log.path, x.step(log))
		}
		for _, f := range x.logs {
			f.retry = time.Time{}
			x.tell(f.log.path, f.settle())
		}
	}
}

// TestForeign leaves sessions alone that are of no log, and goes on with those that were imported.
func TestForeign(t *testing.T) {
	w := newWorld(t)
	own, _ := w.store.Make("claude-code", "s")
	_ = own.Append(Messages, []byte(`{"role":"user","content":"mine"}`+"\n"))
	w.write("s.jsonl", said("a", "one"))
	w.once()
	if got := w.log("claude-code/s", Messages); strings.Count(got, "\n") != 1 || words(t, w.log("claude-code/s-2", Messages)) != "one" {
		t.Errorf("%s", got)
	}

	log := said("a", "one") + answer("b", "m", "two") + answer("c", "m", "three")
	s, _ := w.store.Make("claude-code", "t")
	sess := s.(*memSession)
	if _, err := importer.Import(strings.NewReader(log), importer.ClaudeCode, importing{sess}, nil); err != nil {
		t.Fatal(err)
	}
	_ = s.Append(Messages, []byte(`{"role":"user","content":[{"text":"a note of mine"}]}`+"\n"))
	w.write("t.jsonl", log+answer("d", "m", "four")+said("eeeee", "five"))
	w.once()
	if got := words(t, w.log("claude-code/t", Messages)); got != "one two+three a note of mine four five" {
		t.Errorf("%s", got)
	}
}

// importing is a session as ctxfs import writes it.
type importing struct{ s *memSession }

func (i importing) Message(line []byte) error {
	return i.s.Append(Messages, append(bytes.Clone(line), '\n'))
}
func (i importing) Event(line []byte) error {
	return i.s.Append(Events, append(bytes.Clone(line), '\n'))
}
func (i importing) Blob(data []byte) (string, error) {
	return cas.Sum(data).String(), i.s.Blob(data)
}

// TestKilledAnywhere kills a watch at each of its appends, before and in the middle of it, and starts another: what is
// there at the end is what is there when nothing is killed, each record once.
func TestKilledAnywhere(t *testing.T) {
	logs := map[string]string{"calls of a child agent": childCalls()}
	for _, sample := range []string{"claude-code.jsonl", "codex.jsonl", "copilot-cli.jsonl", "pi.jsonl"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "samples", sample))
		if err != nil {
			t.Fatal(err)
		}
		logs[sample] = string(data)
	}
	for sample, data := range logs {
		lines := bytes.SplitAfter([]byte(data), []byte("\n"))
		some := 7
		if len(lines) < 2*some {
			some = 1
		}
		want := newWorld(t)
		feed(want, lines, some, 0, false)
		for _, torn := range []bool{false, true} {
			for kill := 1; ; kill++ {
				w := newWorld(t)
				if !feed(w, lines, some, kill, torn) {
					break // there are no more appends
				}
				if len(w.store.sessions) != len(want.store.sessions) {
					t.Fatalf("%s killed at append %d, torn %v: the sessions are %v", sample, kill, torn, w.store.sessions)
				}
				for name, s := range want.store.sessions {
					for _, log := range []string{Messages, Events} {
						if got := w.log(name, log); sorted(got) != sorted(s.logs[log].String()) {
							t.Fatalf("%s killed at append %d, torn %v: %s is not what it is without: %s", sample, kill, torn, log, got)
						}
					}
					if fmt.Sprint(len(s.blobs)) != fmt.Sprint(len(w.store.sessions[name].blobs)) {
						t.Errorf("%s killed at append %d: %d pictures, want %d", sample, kill, len(w.store.sessions[name].blobs), len(s.blobs))
					}
				}
			}
		}
	}
}

// childCalls is a log of Copilot CLI in which two calls of a child agent overlap, and one has no result.
func childCalls() string {
	log := ""
	for i, r := range []string{
		`"session.start","data":{"sessionId":"s"}`, `"user.message","data":{"content":"hi"}`,
		`"tool.execution_start","data":{"toolCallId":"a","toolName":"x"}`, `"tool.execution_start","data":{"toolCallId":"b","toolName":"x"}`,
		`"tool.execution_complete","data":{"toolCallId":"b","success":true,"result":{"content":"of b"}}`,
		`"tool.execution_start","data":{"toolCallId":"c","toolName":"x"}`,
		`"tool.execution_complete","data":{"toolCallId":"a","success":true,"result":{"content":"of a"}}`,
		`"assistant.message","data":{"content":"done"}`,
	} {
		log += fmt.Sprintf(`{"type":%s,"id":"e%d","timestamp":"2026-01-01T00:00:%02dZ","parentId":null}`+"\n", r, i, i)
	}
	return log
}

// TestOnceBetween reads a log once in the middle of a child agent's calls, and once at its end, also after the first
// watch let go of it without writing them: each is written once.
func TestOnceBetween(t *testing.T) {
	lines := strings.SplitAfter(childCalls(), "\n")
	for _, settled := range []bool{true, false} {
		w := newWorld(t)
		w.write("s.jsonl", strings.Join(lines[:5], ""))
		if settled {
			w.once()
		} else {
			x := w.watcher()
			for _, log := range logsIn(x) {
				if err := errors.Join(x.step(log), x.drop(log.path)); err != nil {
					t.Fatal(err)
				}
			}
		}
		w.write("s.jsonl", strings.Join(lines, ""))
		w.once()
		got := w.log("copilot-cli/s", Messages)
		if len(w.store.sessions) != 1 || strings.Count(got, `"tool_use"`) != 3 || strings.Count(got, `"tool_result"`) != 2 || strings.Count(got, "\n") != 7 {
			t.Errorf("settled %v: sessions %v: %s", settled, w.store.sessions, got)
		}
	}
}

// TestOldCalls goes on with a session in which the calls of a child agent stand at the lines that they start at.
func TestOldCalls(t *testing.T) {
	w := newWorld(t)
	w.write("s.jsonl", childCalls())
	w.once()
	s := w.store.sessions["copilot-cli/s"]
	old := regexp.MustCompile(`"line":\d+,"called_line":(\d+)(,"unanswered":true)?`).ReplaceAll(s.logs[Messages].Bytes(), []byte(`"line":$1`))
	if bytes.Count(old, []byte("\n")) != 7 || bytes.Contains(old, []byte("called_line")) {
		t.Fatalf("%s", old)
	}
	s.logs[Messages] = bytes.NewBuffer(bytes.Clone(old))
	w.write("s.jsonl", childCalls()+`{"type":"assistant.message","data":{"content":"more"},"id":"e9","timestamp":"2026-01-01T00:01:00Z","parentId":null}`+"\n")
	w.once()
	if got := s.logs[Messages].String(); len(w.store.sessions) != 1 || !strings.HasPrefix(got, string(old)) || strings.Count(got, "\n") != 8 {
		t.Errorf("%v: %s", w.store.sessions, got)
	}
}

func sorted(log string) string {
	list := strings.SplitAfter(log, "\n")
	slices.Sort(list)
	return strings.Join(list, "")
}

// feed has a log grow by some lines at a time, watched through. The watch is killed at an append, and another takes over;
// killed is false when there were not so many.
func feed(w *world, lines [][]byte, some, kill int, torn bool) (killed bool) {
	w.t.Helper()
	w.store.fail, w.store.torn = kill, torn
	x := w.watcher()
	for n := some; ; n += some {
		w.write("log.jsonl", string(bytes.Join(lines[:min(n, len(lines))], nil)))
		if x.cycle() != nil {
			killed = true
			x = w.watcher() // the other one is dead
			if err := x.cycle(); err != nil {
				w.t.Fatal(err)
			}
		}
		if n >= len(lines) {
			return killed
		}
	}
}

// cycle is what Run does at one change, with a pause after it.
func (w *Watcher) cycle() error {
	for _, log := range logsIn(w) {
		if err := w.step(log); err != nil {
			return err
		}
	}
	for _, f := range w.logs {
		if err := f.settle(); err != nil {
			return err
		}
	}
	return nil
}
