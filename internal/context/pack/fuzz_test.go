package pack

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"ctxfs/internal/record"
)

// scripted makes a log of a fuzzer's bytes: each line of them is a message, whose kind, tool call and size its first
// bytes say, and whose text is the rest; a line that starts with '{' is taken as it is. So most inputs are sessions.
func scripted(t testing.TB, script string) []byte {
	var out []byte
	for i, l := range strings.Split(script, "\n") {
		if l == "" || l[0] == '{' || len(l) < 3 {
			out = append(out, l+"\n"...)
			continue
		}
		id, text := fmt.Sprint("call", l[1]%4), strings.ReplaceAll(strings.Repeat(l[3:]+"|", 1<<(l[2]%10)), "|", "\n")
		m := msg{"role": "user", "content": text}
		switch l[0] % 6 {
		case 0:
			m["role"] = "assistant"
		case 1:
			m = msg{"role": "assistant", "content": l[3:], "tool_calls": []msg{{"id": id, "function": msg{"name": "edit", "arguments": text}},
				{"id": id + "b", "function": msg{"name": "read", "arguments": `{"path":"` + id + `"}`}}}}
		case 2, 3:
			m = msg{"role": "tool", "tool_call_id": id + string("b"[:l[1]>>2&1]), "content": text + fmt.Sprint(i)}
		case 4:
			m["isCompactSummary"] = l[1] > 'z'
		}
		out = append(out, logOf(t, m)...)
	}
	return out
}

// FuzzBuild builds packs of any log at any budget, in the middle of it and at its end, folded in one go or with packs on
// the way; the invariants are the judge.
func FuzzBuild(f *testing.F) {
	for i, s := range []string{
		"taz```\nadz[1 user] `````\nbdhgo on\ncdrsame|lines|again and again\nbdzx\ncdrsame|lines|again and once more\ntaxq",
		"{\"role\":\"user\",\"content\":\"hi\"}\nnot json\n{}\n\nbalone",
		"cazresult of nothing\nxA9long words in a line\nb11a\nc11b\nb11a\nc51b\nb71d",
	} {
		for _, budget := range []uint16{0, 90, 700, 5000} {
			f.Add(s, budget, uint8(i+int(budget)))
		}
	}
	f.Fuzz(func(t *testing.T, script string, budget uint16, kind uint8) {
		if len(script) > 1000 {
			return
		}
		log := scripted(t, script)
		h := record.NewMemory(log)
		w := NewWorkset(counter(t))
		in := inputAt("fuzz", h, int(budget), int(kind))
		for n := 1; n <= h.Len(); n++ {
			add(t, w, h, n)
			if n == h.Len() || n == h.Len()/2 {
				p := buildIn(t, w, in)
				hold(t, w, in, p)
				again(t, w, in, p)
			}
		}
		fresh, _ := fold(t, log)
		if p, q := buildIn(t, w, in), buildIn(t, fresh, in); !bytes.Equal(p.Markdown, q.Markdown) || !bytes.Equal(p.JSON, q.JSON) {
			t.Errorf("folded anew, the pack is another one")
		}
	})
}

// FuzzOpen reads any name under swap/open, dedup/blob and recall: it is there or not, and never an error or too long.
func FuzzOpen(f *testing.F) {
	var log []byte
	log = append(log, logOf(f, runs(2)...)...)
	log = append(log, "not json\n{\"a\":1}\n"...)
	w, h := fold(f, log)
	for _, s := range []string{"messages:1", "messages:2.1", "messages:1-3", "messages:6.1", "messages:0", "messages:3-2", "messages:01", "blake3-00", "how did the test fail", "May 2023 *"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		data, ok, err := w.Open(h, name)
		if err != nil || ok && !strings.HasPrefix(name, "messages:") && !isID(name) {
			t.Errorf("open %q: %d bytes, %v, %v", name, len(data), ok, err)
		}
		if _, _, err := w.DedupBlob(h, name); err != nil {
			t.Errorf("blob %q: %v", name, err)
		}
		for _, budget := range []int{0, 30, 300} {
			out, err := w.Recall(Input{History: h}, name, budget)
			if n := w.tok.Count(string(out)); err != nil || n > budget {
				t.Errorf("recall %q: %d tokens of %d, %v", name, n, budget, err)
			}
		}
	})
}
