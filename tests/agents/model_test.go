package agents

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// model is a model that does what the user's text says, over the protocols of Anthropic, OpenAI and Google. A prompt has a token and
// steps, as in "turn-1 [[run 2 3]] [[task 4]]": an answer that runs two commands, one that starts a subagent, and a last one without a
// call. Every prompt, answer, call and result has a token of its own, by which the tests find it.
type model struct {
	*httptest.Server
	t  *testing.T
	mu sync.Mutex
	// said has the tokens of each conversation in order: those of the prompts and results that the model was sent, and of its
	// own answers. The key is the token of a subagent's prompt, "" for the main conversation.
	said    map[string][]string
	last    []message // what the last request of the main conversation held
	sums    []string  // tokens of the answers that sum up
	replies int
	usage   int    // tokens that the next answers report
	dump    string // folder for the requests
	n       int
}

// message is one message of a request, whatever the protocol.
type message struct {
	role string // user, assistant, system
	text string // of its blocks, with the input of calls and the output of results, in order
	ask  string // the text that a user wrote
	// texts, calls and results are the parts of a message to Anthropic: texts, inputs as JSON, and outputs, without surrounding space.
	texts, calls, results []string
}

// answer is what the model says next.
type answer struct {
	text  string
	calls []toolCall
	usage int
}

type toolCall struct {
	id, name string
	input    map[string]any
}

var token = regexp.MustCompile(`\b(turn|sub|reply|call|out)-\d+\b`)

func newModel(t *testing.T) *model {
	t.Helper()
	m := &model{t: t, said: map[string][]string{}, usage: 1000, dump: os.Getenv("CTXFS_TEST_AGENTS_DUMP")}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.n++; m.dump != "" {
		name := fmt.Sprintf("%s-%03d%s.json", m.t.Name(), m.n, strings.ReplaceAll(r.URL.Path, "/", "_"))
		if err := os.WriteFile(filepath.Join(m.dump, strings.ReplaceAll(name, "/", "_")), body, 0o600); err != nil {
			m.t.Error(err)
		}
	}
	switch path := r.URL.Path; {
	case strings.Contains(path, "count_tokens"), strings.Contains(path, "countTokens"):
		reply(w, map[string]any{"input_tokens": len(body) / 4, "totalTokens": len(body) / 4})
	case strings.HasSuffix(path, "/v1/messages"):
		m.anthropic(w, body)
	case strings.HasSuffix(path, "/responses"):
		m.responses(w, body)
	case strings.HasSuffix(path, "/chat/completions"):
		m.chat(w, body)
	case strings.Contains(path, "enerateContent"):
		m.gemini(w, body, strings.Contains(path, "stream"))
	default:
		reply(w, map[string]any{"object": "list", "data": []any{}, "models": []any{}})
	}
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may have gone
}

// events writes server-sent events: pairs of a name, which may be empty, and a value.
func events(w http.ResponseWriter, list ...any) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i := 0; i+1 < len(list); i += 2 {
		if name := list[i].(string); name != "" {
			fmt.Fprintf(w, "event: %s\n", name)
		}
		data, ok := list[i+1].(string)
		if !ok {
			raw, _ := json.Marshal(list[i+1])
			data = string(raw)
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
}

var (
	step    = regexp.MustCompile(`\[\[(\w+) ([\d ]+)\]\]`)
	summary = regexp.MustCompile(`(?i)summar|compact|handoff`)
)

// answer decides what the model says to a conversation, and notes both.
func (m *model) answer(list []message, tools []string) answer {
	at := len(list) - 1
	for at >= 0 && !step.MatchString(list[at].ask) {
		at--
	}
	last := ""
	if n := len(list); n > 0 {
		last = list[n-1].ask
	}
	m.replies++
	a := answer{text: "reply-" + strconv.Itoa(m.replies), usage: m.usage}
	switch {
	case len(tools) == 0 && !summary.MatchString(last):
		m.replies--
		return answer{text: "a title"} // a request beside the conversation
	case strings.HasPrefix(last, "Another language model"): // Codex goes on from its summary
	case summary.MatchString(last) && (len(tools) == 0 || !step.MatchString(last)): // pi sums up a step's turn too
		m.sums = append(m.sums, a.text)
		a.text = "<summary>" + a.text + " sums it up</summary>"
	case at >= 0:
		a.calls = m.calls(list, at, tools)
	}
	m.note(list, a)
	return a
}

// calls returns the calls of the next step of the prompt at.
func (m *model) calls(list []message, at int, tools []string) []toolCall {
	done := 0
	for i := at + 1; i < len(list); i++ {
		if list[i].role == "assistant" && list[i-1].role != "assistant" {
			done++
		}
	}
	steps := step.FindAllStringSubmatch(list[at].ask, -1)
	if done >= len(steps) {
		return nil
	}
	var calls []toolCall
	for _, n := range strings.Fields(steps[done][2]) {
		c := toolCall{id: "tool-" + n + "-" + strconv.Itoa(m.replies)}
		if steps[done][1] == "task" {
			c.name, c.input = task(tools, n)
		} else {
			c.name, c.input = command(tools, n)
		}
		calls = append(calls, c)
	}
	return calls
}

// command returns the call of a shell that prints out-N. The call itself does not hold that token.
func command(tools []string, n string) (string, map[string]any) {
	script := "printf 'out-%d\\n' " + n + " # call-" + n
	for _, name := range []string{"Bash", "bash", "exec_command", "shell_command", "run_shell_command"} {
		if slices.Contains(tools, name) {
			if name == "exec_command" {
				return name, map[string]any{"cmd": script}
			}
			return name, map[string]any{"command": script, "description": "print"}
		}
	}
	return "shell", map[string]any{"command": []string{"bash", "-c", script}}
}

// task returns the call of a subagent that runs a command.
func task(tools []string, n string) (string, map[string]any) {
	in := map[string]any{"description": "a job", "prompt": "sub-" + n + " [[run " + n + "0]]", "subagent_type": "general-purpose"}
	for _, name := range []string{"Agent", "Task", "task"} {
		if slices.Contains(tools, name) {
			if name == "task" {
				in["subagent_type"] = "general"
			} else {
				in["run_in_background"] = false // its answer is the call's result
			}
			return name, in
		}
	}
	return "Task", in
}

// note keeps the tokens of a conversation that are new in it.
func (m *model) note(list []message, a answer) {
	key := ""
	for _, msg := range list {
		if sub := regexp.MustCompile(`^sub-\d+`).FindString(strings.TrimSpace(msg.ask)); sub != "" {
			key = sub
			break
		}
	}
	add := func(text string) {
		for _, tok := range token.FindAllString(text, -1) {
			if !slices.Contains(m.said[key], tok) {
				m.said[key] = append(m.said[key], tok)
			}
		}
	}
	for _, msg := range list {
		if msg.role != "system" {
			add(msg.text)
		}
	}
	add(a.text)
	for _, c := range a.calls {
		raw, _ := json.Marshal(c.input)
		add(words(raw))
	}
	if key == "" {
		m.last = list
	}
}

// tokens returns what was said so far in a conversation.
func (m *model) tokens(key string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.said[key])
}

// summedUp returns tokens with each answer that sums up a second time: the agent logs the answer, and the message that it makes of it.
func (m *model) summedUp(tokens []string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []string
	for _, tok := range tokens {
		if list = append(list, tok); slices.Contains(m.sums, tok) {
			list = append(list, tok)
		}
	}
	return list
}

// ordered returns tokens with adjacent answers that sum up in order: pi asks for two at the same time.
func (m *model) ordered(tokens []string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := slices.Clone(tokens)
	for from := 0; from < len(list); from++ {
		to := from
		for to < len(list) && slices.Contains(m.sums, list[to]) {
			to++
		}
		slices.Sort(list[from:to])
		from = max(from, to-1)
	}
	return list
}

// sent returns the last request of the main conversation.
func (m *model) sent() []message {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}
