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
	}{
		{name: "claude-code.jsonl", title: "Read decimal commas in brewlog", merged: 9, blobs: 1, messages: 39},
		{name: "codex.jsonl", title: "linkcheck calls [setup](#set-up-the-server) broken although the heading \"## Set…", blobs: 1, unpaired: 1, messages: 46},
		{name: "copilot-cli.jsonl", title: "Quoted commas in csvsum", blobs: 1, messages: 15},
		{name: "gemini-cli.json", title: "Leap years in the feeding plan", blobs: 2, unpaired: 1, messages: 7},
		{name: "gemini-cli.jsonl", title: "What is in the folder", merged: 1, messages: 11},
		{name: "opencode.json", title: "Last line without a newline", blobs: 2, unpaired: 1, messages: 10},
		{name: "pi.jsonl", title: "Moon phase on the 31st", blobs: 2, unpaired: 1, messages: 16},
	} {
		sink, rep := importFile(t, filepath.Join(root(t), "samples", c.name))
		if rep.Title != c.title || rep.Merged != c.merged || rep.Blobs != c.blobs || rep.UnpairedCalls != c.unpaired || rep.UnpairedResults != 0 ||
			rep.Messages != c.messages || len(rep.Bad) != 0 {
			t.Errorf("%s: %q: %s", c.name, rep.Title, rep)
		}
		if n := strings.Count(string(sink.log()), `"type":"compaction","native"`); n != 1 && c.name != "gemini-cli.json" {
			t.Errorf("%s: %d compactions", c.name, n)
		}
	}
}
