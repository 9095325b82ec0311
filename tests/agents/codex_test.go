package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestCodex follows several turns, a resume, a fork and compactions.
func TestCodex(t *testing.T) {
	l := newLab(t, "@openai/codex/bin/codex.js")
	must(t, os.Mkdir(filepath.Join(l.home, ".codex"), 0o700))
	must(t, os.WriteFile(filepath.Join(l.home, ".codex/config.toml"), fmt.Appendf(nil, `model = "scripted"
model_provider = "loopback"
model_context_window = 100000
model_auto_compact_token_limit = 50000
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.loopback]
name = "loopback"
base_url = "%s/v1"
wire_api = "responses"
`, l.model.URL), 0o600))
	l.mount()
	ask := func(args ...string) []string {
		return append([]string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"}, args...)
	}
	const logs = ".codex/sessions/*/*/*/rollout-*.jsonl"
	log := l.newLog(logs, ask("turn-1 [[run 1]] [[run 2 3]]")...)
	id := nameOf(log)[len(nameOf(log))-36:]
	l.run(ask("resume", id, "turn-2 [[run 4]]")...)
	before := l.model.tokens("")
	fork := l.newLog(logs, ask("fork", id, "turn-5 [[run 7]]")...)
	forked := l.model.tokens("")
	l.model.usage = 60000 // the next turn begins with a compaction
	l.run(ask("resume", id, "turn-3 [[run 5]]")...)
	l.model.usage = 1000
	l.run(ask("resume", id, "turn-4 [[run 6]]")...)
	all := append(slices.Clone(before), l.model.tokens("")[len(forked):]...)
	l.logHas(log, all)
	l.has("codex", nameOf(log), l.model.summedUp(all))
	l.has("codex", nameOf(fork), forked[len(before):]) // its log names the parent and does not repeat it
	l.finished("codex", log)
	l.finished("codex", fork)
}
