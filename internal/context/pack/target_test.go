package pack

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What a target must not see is in no byte of its pack, is accounted for, and changes nothing for others.
func TestTargets(t *testing.T) {
	log := logOf(t, text("user", "Fix the parser. Never touch lexer.go."),
		msg{"role": "assistant", "content": []any{msg{"type": "thinking", "thinking": "a secret doubt"}, msg{"type": "text", "text": "I will."}}},
		msg{"role": "tool", "content": "internal numbers: 4711", "visibility": []string{"model", "reviewer"}},
		msg{"role": "user", "content": "Do not tell the tool: 0815.", "visibility": []string{"model", "user", "reviewer"}})
	w, h := fold(t, log)
	in := Input{Session: "s", Agent: "a", Budget: 2000, History: h, Pinned: []File{{"context/pinned/system.md", []byte("You are a careful agent.")}},
		Authored: Authored{Todo: []byte("- [ ] the parser\n")}}
	all := []string{"a secret doubt", "4711", "0815", "careful agent", "- [ ] the parser", "I will."}
	for target, sees := range map[string][]string{
		"": all, TargetModel: all, TargetReviewer: all,
		TargetUser: {"0815", "- [ ] the parser", "I will."},
		TargetTool: {"- [ ] the parser", "I will."},
	} {
		in.Target = target
		p, err := w.Build(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			if got, want := bytes.Contains(p.Markdown, []byte(s)), slices.Contains(sees, s); got != want {
				t.Errorf("for %q: %q is in the pack: %v\n%s", target, s, got, p.Markdown)
			}
			if !slices.Contains(sees, s) && bytes.Contains(p.JSON, []byte(s)) {
				t.Errorf("for %q: %q is in pack.json", target, s)
			}
		}
		hidden := 0
		for _, o := range p.Omitted {
			if o.Reason == outHidden {
				hidden++
			}
		}
		if (hidden > 0) != (len(sees) < len(all)) {
			t.Errorf("for %q: %d omissions for visibility: %+v", target, hidden, p.Omitted)
		}
		if strings.Contains(string(p.Markdown), "error") {
			t.Errorf("for %q: %s", target, p.Markdown)
		}
	}
	in.Target, in.Visibility = TargetTool, Visibility{"todo": {"model"}, "system": {"tool"}}
	p, err := w.Build(in)
	if err != nil || !strings.Contains(string(p.Markdown), "careful agent") || strings.Contains(string(p.Markdown), "the parser\n") {
		t.Errorf("with a policy: %v\n%s", err, p.Markdown)
	}
}

// What a program sends at the start of every session is in no pack but a reviewer's, takes no room, and is accounted for.
func TestInstructions(t *testing.T) {
	prompt := strings.Repeat("You are a careful agent of the harness. ", 300)
	sent := func(role, s string) msg {
		return msg{"role": role, "content": s, "is_meta": true, "type": "instructions"}
	}
	log := logOf(t, sent("system", prompt), sent("user", "<environment_context>"+prompt), text("user", "Fix the parser."), text("assistant", "Done: one line of parse.go."),
		sent("developer", "harness again"), text("user", "And the lexer?"))
	w, h := fold(t, log)
	for _, c := range []struct {
		target string
		policy Visibility
		budget int
		sees   bool
	}{
		{"", nil, 400, false}, {"", nil, 2000, false}, {"", nil, 40_000, false}, {TargetUser, nil, 40_000, false},
		{TargetReviewer, nil, 40_000, true}, {"", Visibility{KindInstructions: {TargetModel}}, 40_000, true},
	} {
		p, err := w.Build(Input{Session: "s", Agent: "a", Budget: c.budget, History: h, Target: c.target, Visibility: c.policy, Query: "harness"})
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(p.Markdown, []byte("harness")) != c.sees || !bytes.Contains(p.Markdown, []byte("Done: one line")) || !bytes.Contains(p.Markdown, []byte("the lexer?")) {
			t.Errorf("%+v:\n%.2000s", c, p.Markdown)
		}
		var out []string
		for _, o := range p.Omitted {
			if o.Reason == outHidden {
				out = append(out, o.Range+" "+o.Path)
			}
		}
		if got := strings.Join(out, ", "); !c.sees && got != "1-2 context/swap/open/messages:1-2, 5 context/swap/open/messages:5" || c.sees && got != "" {
			t.Errorf("%+v: left out are %q", c, got)
		}
	}
}

// mask is a rule for tests: words that start with sk-.
func mask(s string) (string, []Masked) {
	words := strings.SplitAfter(s, " ")
	n := 0
	for i, w := range words {
		if strings.HasPrefix(w, "sk-") {
			words[i] = "[redacted:key]" + strings.TrimLeft(w, "-abcdefghijklmnopqrstuvwxyz0123456789")
			n++
		}
	}
	if n == 0 {
		return s, nil
	}
	return strings.Join(words, ""), []Masked{{"key", n}}
}

func masks(s string) []Masked {
	if n := strings.Count(s, "[redacted:key]"); n > 0 {
		return []Masked{{"key", n}}
	}
	return nil
}

// A secret is in no file that is made of the log, wherever it stands; what is masked is told by rule; the rest is as without.
func TestMasked(t *testing.T) {
	const key = "sk-abc123"
	log := logOf(t, text("user", "Never use "+key+" again. The key is "+key+" now."),
		msg{"role": "assistant", "content": []any{msg{"type": "text", "text": "Decision: keep " + key + " out of git."},
			msg{"type": "tool_use", "id": "c1", "name": "Bash", "input": msg{"command": "curl -H " + key + " x"}}}},
		msg{"role": "tool", "content": []any{msg{"type": "tool_result", "tool_use_id": "c1", "content": strings.Repeat("line of output\n", 2500) + " " + key + " end"}}},
		text("user", "What was "+key+" for?"))
	h := memory(log)
	w := NewWorkset(counter(t))
	w.SetMask(mask, masks)
	for n := 1; n <= h.Len(); n++ {
		add(t, w, h, n)
	}
	in := Input{Session: "s", Agent: "a", History: h, Pinned: []File{{"context/pinned/p.md", []byte("use " + key + " here")}}}
	for _, in.Budget = range []int{300, 2000, 32000} {
		p, err := w.Build(in)
		if err != nil {
			t.Fatal(err)
		}
		recalled, err := w.Recall(in, "what is the key", 1000)
		if err != nil {
			t.Fatal(err)
		}
		index, _, err := w.SwapIndex(in)
		if err != nil {
			t.Fatal(err)
		}
		made := map[string][]byte{"pack.md": p.Markdown, "pack.json": p.JSON, "recall": recalled, "swap": index}
		for _, kind := range []string{"summary.md", "facts.jsonl", "decisions.jsonl", "todo.md", "refs.jsonl"} {
			if made[kind], err = w.Derived(h, deriveKind(kind)); err != nil {
				t.Fatal(err)
			}
		}
		for name, data := range made {
			if bytes.Contains(data, []byte(key)) {
				t.Errorf("budget %d: the secret is in %s: %s", in.Budget, name, data)
			}
		}
		for _, it := range p.Items {
			text := string(p.Markdown[it.Start:it.End])
			if strings.Contains(text, "[redacted:key]") != (len(it.Masked) > 0) {
				t.Errorf("budget %d: %s %s %s says it masked %v: %s", in.Budget, it.Kind, it.Source, it.Range, it.Masked, fmt.Sprintf("%.300s", text))
			}
		}
	}
	data, ok, err := w.Open(h, "messages:1.1")
	if err != nil || !ok || !bytes.Contains(data, []byte(key)) {
		t.Errorf("swap/open is not exact: %s %v", data, err)
	}
}
