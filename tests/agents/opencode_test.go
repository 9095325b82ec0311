package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestOpenCode follows OpenCode's database over several turns, a subagent, a resume and a fork, and imports what OpenCode exports.
func TestOpenCode(t *testing.T) {
	l := newLab(t, "opencode-linux-ARCH-baseline/bin/opencode", "opencode-linux-ARCH/bin/opencode")
	must(t, os.MkdirAll(filepath.Join(l.home, ".config/opencode"), 0o700))
	must(t, os.WriteFile(filepath.Join(l.home, ".config/opencode/opencode.json"), fmt.Appendf(nil, `{"model":"loopback/scripted","autoupdate":false,"share":"disabled","provider":{"loopback":{
"npm":"@ai-sdk/openai-compatible","options":{"baseURL":"%s/v1","apiKey":"none"},"models":{"scripted":{"name":"scripted","tool_call":true,"limit":{"context":100000,"output":4000}}}}}}`, l.model.URL), 0o600))
	l.env = append(l.env, "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1")
	l.mount()
	ask := func(args ...string) string { // returns the session's id
		out := l.run(append([]string{"run", "--auto", "--format", "json"}, args...)...)
		id := regexp.MustCompile(`"sessionID":"(ses_\w+)"`).FindStringSubmatch(out)
		if id == nil {
			t.Fatalf("no session: %s", out)
		}
		return id[1]
	}
	export := func(id string) string {
		name := filepath.Join(l.home, id+".json")
		must(t, os.WriteFile(name, []byte(l.output("export", id)), 0o600))
		return name
	}
	id := ask("turn-1 [[run 1]] [[run 2 3]]")
	ask("--session", id, "turn-2 [[task 4]] [[run 5]]")
	before := l.model.tokens("")
	fork := ask("--session", id, "--fork", "turn-3 [[run 6]]")
	l.has("opencode", id, before)
	l.has("opencode", fork, l.model.tokens(""))
	l.finished("opencode", export(id))
	l.finished("opencode", export(fork))
}
