package report

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"ctxfs/internal/record"
)

var update = flag.Bool("update", false, "write the golden file")

func log(t *testing.T, records int) *record.Memory {
	t.Helper()
	var b strings.Builder
	for i := range records {
		switch i % 4 {
		case 0:
			fmt.Fprintf(&b, `{"role":"user","content":"ask %d <b>","created_at":"2026-01-01T00:%02d:00Z"}`+"\n", i, i)
		case 2:
			fmt.Fprintf(&b, `{"role":"tool","tool_call_id":"c","content":"%s"}`+"\n", strings.Repeat("x", 1000))
		default:
			fmt.Fprintf(&b, `{"role":"assistant","content":"say %d","usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d}}`+"\n", i, i, i*50, i*2)
		}
	}
	return record.NewMemory([]byte(b.String()))
}

func TestPick(t *testing.T) {
	for _, c := range []struct {
		records, most int
		want          []int
	}{{0, 5, nil}, {1, 5, []int{1}}, {8, 3, []int{1, 5, 8}}, {8, 1, []int{8}}, {12, 6, []int{1, 4, 5, 8, 9, 12}}} {
		got, err := Pick(log(t, c.records), c.most)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%d records, %d steps: %v, %v", c.records, c.most, got, err)
		}
	}
	for most := 1; most < 40; most++ {
		if got, err := Pick(log(t, 100), most); err != nil || len(got) > most || got[len(got)-1] != 100 {
			t.Errorf("%d steps: %v, %v", most, got, err)
		}
	}
}

func TestDiff(t *testing.T) {
	was := Pack{Items: []Part{
		{Kind: "summary", Source: "context/summary.md", Hash: "a"}, {Kind: "refs", Source: "context/refs.jsonl", Hash: "r"},
		{Kind: "recent_messages", Source: messages, Range: "1-6", Parts: map[string]float64{"recency": 1}}}}
	now := Pack{Items: []Part{
		{Kind: "summary", Source: "context/summary.md", Hash: "b"}, {Kind: "todo", Source: "context/todo.md", Hash: "t", Parts: map[string]float64{"authority": 0.5}},
		{Kind: "recalled_messages", Source: messages, Range: "2", Parts: map[string]float64{"relevance": 0.7, "working": 0.1}},
		{Kind: "recent_messages", Source: messages, Range: "5-9", Parts: map[string]float64{"recency": 1}}},
		Omitted: []Part{{Source: messages, Range: "3-4", Reason: "budget_limit"}, {Source: "context/refs.jsonl", Reason: "too_large"}}}
	entered, left := diff(&was, &now)
	wantIn := []Change{{"records 7–9", "recent", "recent", 3}, {"context/summary.md", "summary", "it changed", 0}, {"context/todo.md", "to do", "written down", 0}}
	wantOut := []Change{{"records 3–4", "recent", "no room in the budget", 2}, {"record 1", "recent", "older than what is looked at", 1}, {"context/refs.jsonl", "files referred to", "too large", 0}}
	if !reflect.DeepEqual(entered, wantIn) || !reflect.DeepEqual(left, wantOut) {
		t.Errorf("entered %v\nleft %v", entered, left)
	}
	if entered, left := diff(&now, &now); entered != nil || left != nil {
		t.Errorf("from a pack to itself: %v, %v", entered, left)
	}
}

func TestPage(t *testing.T) {
	l := log(t, 24)
	at, err := Pick(l, 6)
	if err != nil {
		t.Fatal(err)
	}
	var packs []Pack
	for _, n := range at {
		packs = append(packs, Pack{Budget: 1000, Tokens: 100 + n*30, Items: []Part{
			{Kind: "summary", Source: "context/summary.md", Tokens: 100, Hash: fmt.Sprint(n)},
			{Kind: "recent_messages", Source: messages, Range: fmt.Sprintf("%d-%d", max(1, n-6), n), Tokens: n * 30, Parts: map[string]float64{"recency": 1}}}})
	}
	events := `{"type":"compaction","created_at":"2026-01-01T00:09:00Z","data":{"compactMetadata":{"trigger":"<auto>","preTokens":5000}}}` + "\nno json\n"
	story, err := Tell("coder", "<s>", l, []byte(events), at, packs, func(text string) string { return strings.ReplaceAll(text, "say 1", "say [masked]") })
	if err != nil {
		t.Fatal(err)
	}
	if got := story.last(); got.ToolBytes != 6000 || got.ToolShown != 2000 || story.Compactions[0] != (Compaction{At: 9, Time: story.Compactions[0].Time, Trigger: "<auto>", Before: 5000}) {
		t.Errorf("tool bytes %d, %d; %+v", got.ToolBytes, got.ToolShown, story.Compactions)
	}
	var page bytes.Buffer
	if err := story.Render(&page); err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{"ask 0 <b>", "<auto>", "<s>", "://"} {
		if strings.Contains(page.String(), raw) {
			t.Errorf("the page has %q", raw)
		}
	}
	if *update {
		if err := os.WriteFile("testdata/page.html", page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile("testdata/page.html")
	if err != nil || !bytes.Equal(golden, page.Bytes()) {
		t.Errorf("the page is not testdata/page.html: go test ./internal/report -update (%v)", err)
	}
}

func FuzzPack(f *testing.F) {
	f.Add([]byte(`{"tokens":5,"items":[{"source":"messages.jsonl","range":"1-3"}],"omitted":[{"range":"2.4"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParsePack(data)
		if err != nil {
			return
		}
		diff(&Pack{}, &p)
	})
}
