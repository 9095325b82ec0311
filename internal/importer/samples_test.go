package importer

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestSamples sees that the sessions which the repository ships show what an import can do.
func TestSamples(t *testing.T) {
	for _, c := range []struct {
		name, title             string
		merged, blobs, unpaired int
		messages                int
		none                    bool // no compaction
	}{
		{name: "claude-code.jsonl", title: "Read decimal commas in brewlog", merged: 9, blobs: 1, messages: 39},
		{name: "codex.jsonl", title: "linkcheck calls [setup](#set-up-the-server) broken although the heading \"## Set…", blobs: 1, unpaired: 1, messages: 46},
		{name: "copilot-cli.jsonl", title: "Quoted commas in csvsum", blobs: 1, messages: 15},
		{name: "gemini-cli.json", title: "Leap years in the feeding plan", blobs: 2, unpaired: 1, messages: 7, none: true},
		{name: "gemini-cli.jsonl", title: "What is in the folder", merged: 1, messages: 19},
		{name: "opencode.json", title: "Last line without a newline", blobs: 2, unpaired: 1, messages: 10},
		{name: "aider.chat.history.md", title: "The dial is wrong in summer. It should take daylight saving into account.", messages: 8, none: true},
		{name: "messages-anthropic.json", title: "How many lines has poem.txt?", blobs: 1, messages: 8, none: true},
		{name: "messages-openai.json", title: "When does the sun set in Oslo on 21 June? The sky looks like this:", blobs: 1, messages: 9, none: true},
		{name: "messages.jsonl", title: "Name a river in Peru.", messages: 4, none: true},
		{name: "swe-agent.traj", title: "ISSUE: kettle says that water at 100 degrees does not boil. Do not change the…", messages: 10, none: true},
		{name: "pi.jsonl", title: "Moon phase on the 31st", blobs: 2, unpaired: 1, messages: 16},
	} {
		sink, rep := importFile(t, filepath.Join(root(t), "samples", c.name))
		if rep.Title != c.title || rep.Merged != c.merged || rep.Blobs != c.blobs || rep.UnpairedCalls != c.unpaired || rep.UnpairedResults != 0 ||
			rep.Messages != c.messages || len(rep.Bad) != 0 {
			t.Errorf("%s: %q: %s", c.name, rep.Title, rep)
		}
		if n := strings.Count(string(sink.log()), `"type":"compaction","native"`); (n != 1) != c.none {
			t.Errorf("%s: %d compactions", c.name, n)
		}
	}
}

// TestSamplesOfSeveral sees the same of those that hold several sessions.
func TestSamplesOfSeveral(t *testing.T) {
	for name, want := range map[string]string{
		"openhands.jsonl":         "tide-23 issue-7",
		"tau-bench.json":          "task-0-trial-0 task-0-trial-1 task-3-trial-0",
		"tau-bench-display.jsonl": "1 2",
	} {
		var got []string
		for _, s := range importEach(t, filepath.Join(root(t), "samples", name)) {
			got = append(got, s.label)
			if s.rep.Messages == 0 || s.rep.UnpairedResults > 0 {
				t.Errorf("%s %s: %s", name, s.label, s.rep)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", name, got, want)
		}
	}
}
