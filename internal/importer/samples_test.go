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
	} {
		sink, rep := importFile(t, filepath.Join(root(t), "samples", c.name))
		if rep.Title != c.title || rep.Merged != c.merged || rep.Blobs != c.blobs || rep.UnpairedCalls != c.unpaired || rep.UnpairedResults != 0 ||
			rep.Messages != c.messages || len(rep.Bad) != 0 || rep.CWD == "" {
			t.Errorf("%s: %q: %s", c.name, rep.Title, rep)
		}
		if n := strings.Count(string(sink.log()), `"type":"compaction","native"`); n != 1 {
			t.Errorf("%s: %d compactions", c.name, n)
		}
	}
}
