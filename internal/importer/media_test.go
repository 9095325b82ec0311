package importer

import (
	"strings"
	"testing"
)

// TestPictures reads every form in which logs hold inline data.
func TestPictures(t *testing.T) {
	const ref = `"source":{"type":"ref","ref":"R","media_type":`
	for in, want := range map[string]string{
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}`:                `{"type":"image",` + ref + `"image/png","bytes":3}}`,
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA AA\nAA=="},"k":1}`:   `{"type":"image",` + ref + `"image/png","bytes":4},"k":1}`,
		`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AA"},"t":"x"}`: `{"type":"document",` + ref + `"application/pdf","bytes":1},"t":"x"}`,
		`{"type":"input_image","image_url":"data:image/gif;base64,AAAA","detail":"low"}`:                    `{"type":"image",` + ref + `"image/gif","bytes":3},"detail":"low"}`,
		`{"type":"image_url","image_url":{"url":"data:image/gif;base64,AAAA"}}`:                             `{"type":"image",` + ref + `"image/gif","bytes":3}}`,
		`{"type":"input_file","file_data":"data:application/pdf;base64,AAAA","filename":"a"}`:               `{"type":"document",` + ref + `"application/pdf","bytes":3},"filename":"a"}`,
		`{"type":"audio","data":"AAAA","mimeType":"audio/wav"}`:                                             `{"type":"audio",` + ref + `"audio/wav","bytes":3}}`,
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"A"}}`:                   `{"type":"image",` + ref + `"image/png","bytes":1,"encoding":"base64"}}`,
		`{"a":[{"b":{"type":"image","data":"AAAA","mimeType":"image/png"}}]}`:                               `{"a":[{"b":{"type":"image",` + ref + `"image/png","bytes":3}}}]}`,
		`{"type":"image","source":{"type":"url","url":"https://example.invalid/base64"}}`:                   "",
		`{"type":"text","text":"data:image/png;base64,AAAA"}`:                                               "",
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":""}}`:                    "",
	} {
		sink := &memSink{}
		w := newWriter(sink, ClaudeCode)
		out, err := w.withoutMedia([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		got := string(out)
		for r := range sink.blobs {
			got = strings.ReplaceAll(got, r, "R")
		}
		if want == "" {
			want = in
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", in, got, want)
		}
	}
}

// TestQueuedPrompt reads prompts that were typed, or sent by a task, while the agent worked.
func TestQueuedPrompt(t *testing.T) {
	queued := func(more string) string {
		return rec("attachment", "q", "", `"attachment":{"type":"queued_command",`+more+`}`)
	}
	picture := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}`
	for log, want := range map[string]struct {
		user  bool
		blobs int
	}{
		queued(`"prompt":"and this","commandMode":"prompt"`):                                     {true, 0},
		queued(`"prompt":[{"type":"text","text":"see"},` + picture + `],"commandMode":"prompt"`): {true, 1},
		queued(`"prompt":"<task-notification>done","commandMode":"task-notification"`):           {false, 0},
		queued(`"prompt":"<task-notification>done"`):                                             {false, 0},
	} {
		sink, rep := importText(t, ClaudeCode, log)
		if r := parsed(t, sink)[0]; r.IsUser() != want.user || rep.Blobs != want.blobs || r.ID != "q" {
			t.Errorf("%s: %s", log, sink.log())
		}
	}
	if _, rep := importText(t, ClaudeCode, queued(`"prompt":""`)); rep.Messages != 0 || sum(rep.Skipped) != 1 {
		t.Errorf("an empty prompt: %s", rep)
	}
}
