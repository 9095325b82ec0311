package pack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"ctxfs/internal/record"
)

// hideWords masks a word that is common in logs.
func hideWords(text string) (string, []Masked) {
	n := strings.Count(text, "file")
	if n == 0 {
		return text, nil
	}
	return strings.ReplaceAll(text, "file", "[masked]"), []Masked{{Rule: "word", Count: n}}
}

// mixedLog makes a log of n lines that has all that a pack treats in its own way: tool rounds, outputs that come again or nearly
// so, files that are read and edited, long texts, fences, compactions, lines that are no records, records that not all may see.
func mixedLog(t *testing.T, n int) []byte {
	rnd := rand.New(rand.NewSource(7))
	words := func(k int) string {
		var b strings.Builder
		for range k {
			b.WriteString([]string{"file ", "the parser ", "漢字。", "x1 ", "failed\n", "/src/a.go:12\n", "[3 user]\n", "```", "\n\n", "we decided to "}[rnd.Intn(10)])
		}
		return b.String()
	}
	output := words(300)
	var out []byte
	for i := range n {
		m := text("assistant", words(20+rnd.Intn(60)))
		switch k := rnd.Intn(12); {
		case i%10 == 9:
			m = text("user", words(5+rnd.Intn(400)))
		case k < 4:
			args, err := json.Marshal(map[string]any{"file_path": fmt.Sprintf("/src/f%d.go", rnd.Intn(5)), "offset": rnd.Intn(2)})
			if err != nil {
				t.Fatal(err)
			}
			m = msg{"role": "assistant", "tool_calls": []msg{{"id": fmt.Sprint("c", i), "function": msg{"name": []string{"read", "edit"}[k%2], "arguments": string(args)}}}}
		case k < 8:
			if rnd.Intn(3) == 0 {
				output = words(100 + rnd.Intn(1500))
			}
			m = msg{"role": "tool", "tool_call_id": fmt.Sprint("c", i-1), "content": output + []string{"", "\nand more"}[rnd.Intn(2)]}
		case k == 8 && rnd.Intn(3) == 0:
			m = msg{"role": "user", "content": words(100), "isCompactSummary": true}
		case k == 9 && rnd.Intn(3) == 0:
			out = append(out, "no JSON\n"...)
			continue
		case k == 10 && rnd.Intn(3) == 0:
			m["visibility"] = []string{"user"}
		}
		out = append(out, logOf(t, m)...)
	}
	return out
}

// TestAsBuiltAnew appends line by line and builds a pack after each, as sessions do, with budgets, questions, pinned files and
// targets that change on the way: each must be what a fold that never built one builds.
func TestAsBuiltAnew(t *testing.T) {
	t.Run("made", func(t *testing.T) { asBuiltAnew(t, "made", mixedLog(t, 260), 20, 40) })
	list := sessions(t)
	step := 12
	if testing.Short() || slow {
		step = 60
	}
	for _, s := range every(list, step) {
		n := record.NewMemory(s.Log).Len()
		t.Run(s.Name, func(t *testing.T) { asBuiltAnew(t, s.Name, s.Log, min(n/3, 400), 12) })
	}
}

// asBuiltAnew appends so many lines behind the first ones, without and with a mask.
func asBuiltAnew(t *testing.T, name string, log []byte, first, lines int) {
	h := record.NewMemory(log)
	for _, mask := range []MaskFunc{nil, hideWords} {
		w := newMasked(t, mask)
		next := func() *Workset { add(t, w, h, w.Len()+1); return w }
		for w.Len() < min(first, h.Len()) {
			next()
		}
		for i := 0; i < lines && w.Len() < min(h.Len(), 800); i++ {
			next()
			fresh := newMasked(t, mask)
			for n := 1; n <= w.Len(); n++ {
				add(t, fresh, h, n)
			}
			// Few lines in a row see the same input, so that what was kept is used; then it changes.
			in := inputAt(name, h, []int{2000, 32000, 8000, 600}[i/5%4], i/3)
			in.Target = []string{"", TargetTool, TargetReviewer}[i/7%3]
			p, q := buildIn(t, w, in), buildIn(t, fresh, in)
			if !bytes.Equal(p.Markdown, q.Markdown) || !bytes.Equal(p.JSON, q.JSON) || p.Tokens != w.tok.Count(string(p.Markdown)) {
				t.Fatalf("%d records, budget %d: the pack is not what a new fold builds", w.Len(), in.Budget)
			}
		}
	}
}

func newMasked(t *testing.T, mask MaskFunc) *Workset {
	w := NewWorkset(counter(t))
	w.SetMask(mask, masks)
	return w
}
