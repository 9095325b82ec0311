package agents

import (
	"os"
	"path/filepath"
	"testing"
)

// TestGemini follows several turns and resumes.
func TestGemini(t *testing.T) {
	l := newLab(t, "@google/gemini-cli/bundle/gemini.js")
	must(t, os.Mkdir(filepath.Join(l.home, ".gemini"), 0o700))
	must(t, os.WriteFile(filepath.Join(l.home, ".gemini/settings.json"), []byte(`{"security":{"auth":{"selectedType":"gemini-api-key"}},
"general":{"enableAutoUpdate":false,"enableAutoUpdateNotification":false},"telemetry":{"enabled":false},"privacy":{"usageStatisticsEnabled":false}}`), 0o600))
	l.env = append(l.env, "GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL="+l.model.URL, "GEMINI_CLI_NO_RELAUNCH=true")
	l.mount()
	ask := func(args ...string) []string {
		return append([]string{"--yolo", "--skip-trust", "-m", "gemini-2.5-pro"}, args...)
	}
	log := l.newLog(".gemini/tmp/*/chats/session-*.jsonl", ask("-p", "turn-1 [[run 1]] [[run 2 3]]")...)
	l.run(ask("--resume", "latest", "-p", "turn-2 [[run 4]]")...)
	l.run(ask("--resume", "latest", "-p", "turn-3 [[run 5 6]]")...)
	l.logHas(log, l.model.tokens(""))
	l.has("gemini-cli", nameOf(log), l.model.tokens(""))
	l.finished("gemini-cli", log)
}
