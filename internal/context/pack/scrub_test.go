package pack

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand"
	"regexp"
	"strings"
	"testing"
)

// data is n bytes of base64.
func data(n int) string {
	raw := make([]byte, n)
	rand.New(rand.NewSource(7)).Read(raw)
	return base64.StdEncoding.EncodeToString(raw)[:n]
}

// lines wraps s.
func lines(s string, size int, end string) string {
	var out []string
	for len(s) > size {
		out = append(out, s[:size])
		s = s[size:]
	}
	return strings.Join(append(out, s), end)
}

func TestScrub(t *testing.T) {
	big, word := data(3000), strings.Repeat("x", 600)
	paths := strings.Repeat("github.com/Some/path-2/to/a/file\n", 40)
	for _, c := range []struct{ name, in, want string }{
		{"short", data(511), data(511)},
		{"alone", big, "[base64, 3000 bytes]"},
		{"a URL", `<img src="data:image/png;base64,` + big + `">`, `<img src="data:image/png;base64,[base64, 3000 bytes]">`},
		{"two", big + " and " + big[:512] + ".", "[base64, 3000 bytes] and [base64, 512 bytes]."},
		{"MIME", "see:\n" + lines(big, 76, "\r\n") + "\nend", "see:\n[base64, 3078 bytes]\nend"},
		{"PEM", "-----BEGIN X-----\n" + lines(big, 64, "\n") + "\n-----END X-----\n", "-----BEGIN X-----\n[base64, 3046 bytes]\n-----END X-----\n"},
		{"escaped", `{"a":"` + lines(big, 76, `\n`) + `"}`, `{"a":"[base64, 3078 bytes]"}`},
		{"a long word", word, word},
		{"a ruler", strings.Repeat("=", 2000), strings.Repeat("=", 2000)},
		{"paths", paths, paths},
		{"hex", strings.Repeat("0123456789abcdef", 60), strings.Repeat("0123456789abcdef", 60)},
		{"prose", strings.Repeat("Words 1 of 2 a line.\n", 90), strings.Repeat("Words 1 of 2 a line.\n", 90)},
	} {
		if got := scrub(c.in); got != c.want {
			t.Errorf("%s: %.300q, want %.300q", c.name, got, c.want)
		}
	}
}

// TestNoBase64InAnyPack puts data wherever a log and the files beside it can have text.
func TestNoBase64InAnyPack(t *testing.T) {
	big := data(4000)
	image := map[string]any{"type": "image", "source": map[string]string{"type": "base64", "media_type": "image/png", "data": big}}
	result := func(id string, content any) msg {
		return msg{"role": "user", "content": []any{map[string]any{"type": "tool_result", "tool_use_id": id, "content": content}}}
	}
	log := logOf(t, text("user", "look at this: "+big),
		msg{"role": "assistant", "content": []any{map[string]any{"type": "tool_use", "id": "a", "name": "Write", "input": map[string]string{"content": big}},
			map[string]any{"type": "tool_use", "id": "b", "name": "TodoWrite", "input": map[string]any{"todos": []any{map[string]string{"content": big, "status": "pending"}}}}}},
		result("a", "data:image/png;base64,"+big), result("b", []any{image, map[string]string{"type": "text", "text": lines(big, 76, "\n")}}),
		msg{"role": "user", "content": []any{image, map[string]any{"type": "unknown", "data": big}}},
		msg{"type": "attachment", "blob": map[string]string{"data": big, "mime": lines(big, 64, "\n")}},
		msg{"role": "assistant", "content": "We decided to keep " + big + " as it is."}, text("user", "go on "+big))
	w, h := fold(t, log)
	long := regexp.MustCompile(`[A-Za-z0-9+/=_\-]{200,}|([A-Za-z0-9+/=_\-]{60,}(\\n|\n)){4,}`)
	for _, b := range []int{500, 1000, 4000, 60000} {
		in := Input{Session: "s", Agent: "a", Budget: b, History: h, Pinned: []File{{"context/pinned/a.md", []byte("see " + big)}, {"context/pinned/b.ref", []byte("swap:messages:4.1")}},
			Authored: Authored{Facts: fmt.Appendf(nil, "{\"text\":%q}\n", big), Summary: []byte(big)},
			Children: []Child{{ID: "c", Status: "done", Result: []byte(lines(big, 76, "\n"))}}}
		p := buildIn(t, w, in)
		hold(t, w, in, p)
		in.Query = "what about " + big
		q := buildIn(t, w, in)
		answer, err := w.Recall(in, "look at this", b)
		if err != nil {
			t.Fatal(err)
		}
		for name, out := range map[string][]byte{"pack.md": p.Markdown, "pack.json": p.JSON, "asked pack.md": q.Markdown, "asked pack.json": q.JSON, "recall": answer} {
			if m := long.Find(out); m != nil {
				t.Errorf("%s at %d holds %d bytes of data: %.100q", name, b, len(m), m)
			}
			if strings.HasSuffix(name, "json") && !json.Valid(out) {
				t.Errorf("pack.json at %d is no JSON", b)
			}
		}
	}
}

func FuzzScrub(f *testing.F) {
	f.Add("see " + data(600) + "\n" + lines(data(2000), 76, "\\n"))
	f.Add(strings.Repeat("a\\\n", 400))
	f.Fuzz(func(t *testing.T, s string) {
		got := scrub(s)
		if len(got) > len(s) {
			t.Errorf("%q grew to %q", s, got)
		}
		for i := 0; i < len(got); i++ {
			if n := lineLen(got[i:]); n >= minBase64 && mixed(got[i:i+n]) {
				t.Errorf("%.60q stayed in", got[i:i+n])
			} else {
				i += n
			}
		}
	})
}
