package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestPi follows several turns, a resume, a fork and a compaction.
func TestPi(t *testing.T) {
	l := newLab(t, "@mariozechner/pi-coding-agent/dist/cli.js")
	dir := filepath.Join(l.home, ".pi/agent")
	must(t, os.MkdirAll(dir, 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "models.json"), fmt.Appendf(nil, `{"providers":{"loopback":{"baseUrl":"%s/v1","apiKey":"none","api":"openai-completions",
"models":[{"id":"scripted","contextWindow":100000,"maxTokens":4000}]}}}`, l.model.URL), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "settings.json"), []byte(`{"compaction":{"enabled":true,"keepRecentTokens":1,"reserveTokens":20000}}`), 0o600))
	l.env = append(l.env, "PI_OFFLINE=1", "PI_SKIP_VERSION_CHECK=1", "PI_TELEMETRY=0")
	l.mount()
	ask := func(args ...string) []string {
		return append([]string{"--provider", "loopback", "--model", "scripted", "-p"}, args...)
	}
	const logs = ".pi/agent/sessions/*/*.jsonl"
	log := l.newLog(logs, ask("turn-1 [[run 1]] [[run 2 3]]")...)
	l.run(ask("--session", log, "turn-2 [[run 4]]")...)
	before := l.model.tokens("")
	fork := l.newLog(logs, ask("--fork", log, "turn-3 [[run 5]]")...)
	forked := l.model.tokens("")
	l.model.usage = 95000 // what follows the next turn is a compaction
	l.run(ask("--session", log, "turn-4 [[run 6]]")...)
	l.model.usage = 1000
	l.run(ask("--session", log, "turn-5 [[run 7]]")...)
	all := append(before, l.model.tokens("")[len(forked):]...)
	l.logHas(log, all)
	l.has("pi", nameOf(log), all)
	l.has("pi", nameOf(fork), forked)
	l.finished("pi", log)
	l.finished("pi", fork)
}
