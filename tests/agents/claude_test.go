package agents

import (
	"path/filepath"
	"testing"
)

func newClaude(t *testing.T) *lab {
	t.Helper()
	l := newLab(t, "@anthropic-ai/claude-code-linux-ARCH/claude")
	l.env = append(l.env, "ANTHROPIC_BASE_URL="+l.model.URL, "ANTHROPIC_API_KEY=none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "IS_SANDBOX=1") // the last lets root run commands without being asked
	return l
}

// TestClaudeCode follows several turns, a subagent, a resume, a fork and a compaction.
func TestClaudeCode(t *testing.T) {
	l := newClaude(t)
	l.mount()
	ask := func(args ...string) []string {
		return append([]string{"-p", "--permission-mode", "bypassPermissions"}, args...)
	}
	const logs = ".claude/projects/*/*.jsonl"
	log := l.newLog(logs, ask("turn-1 [[run 1]] [[run 2 3]]")...)
	id := nameOf(log)
	l.run(ask("--resume", id, "turn-2 [[task 4]] [[run 5]]")...)
	before := l.model.tokens("")
	fork := l.newLog(logs, ask("--resume", id, "--fork-session", "turn-3 [[run 6]]")...)
	forked := l.model.tokens("")
	l.run(ask("--resume", id, "turn-4 [[run 7]]")...)
	l.run(ask("--resume", id, "/compact")...)
	l.run(ask("--resume", id, "turn-5 [[run 8]]")...)
	all := append(before, l.model.tokens("")[len(forked):]...)
	l.logHas(log, all)
	l.has("claude-code", id, all)
	l.has("claude-code", nameOf(fork), forked)
	agents, err := filepath.Glob(filepath.Join(l.session("claude-code", id), "context/child/*"))
	must(t, err)
	if len(agents) != 1 {
		t.Fatalf("linked are %v, not one subagent", agents)
	}
	l.has("claude-code", id+"-agent-"+filepath.Base(agents[0]), l.model.tokens("sub-4"))
	l.finished("claude-code", log)
	l.finished("claude-code", fork)
}
