package mcp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// client speaks to a server as most that there are do: later versions of the protocol have other subscriptions.
func client(t *testing.T, s *Server) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	if _, err := s.mcp.Connect(context.Background(), there, nil); err != nil {
		t.Fatal(err)
	}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(context.Background(), here, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// call gives what a tool says, and whether it refused.
func call(t *testing.T, c *mcp.ClientSession, tool, arguments string) (string, bool) {
	t.Helper()
	r, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, x := range r.Content {
		texts = append(texts, x.(*mcp.TextContent).Text)
	}
	return strings.Join(texts, "\n"), r.IsError
}

// TestAppend: records come into the log as they were given, all of a call or none.
func TestAppend(t *testing.T) {
	s := tree(t)
	log := filepath.Join(point(t, s), "home/1000/agent/coder/session/fix-42/messages.jsonl")
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := client(t, s)
	long := strings.Repeat("x", 700_000)
	for _, x := range []struct{ name, records, want, refused string }{
		{"numbers", `[{"n":9007199254740993,"id":12345678901234567890,"f":0.10}]`, `{"n":9007199254740993,"id":12345678901234567890,"f":0.10}` + "\n", ""},
		{"letters, keys", `[ {"z": "<b>&\u2028é\u00e9", "a": null , "role":"user"},{"b":{"d":1,"c":[ ]}} ]`, `{"z":"<b>&\u2028é\u00e9","a":null,"role":"user"}` + "\n" + `{"b":{"d":1,"c":[]}}` + "\n", ""},
		{"one that is long", `[{"text":"` + long + long + `"}]`, `{"text":"` + long + long + `"}` + "\n", ""},
		{"too much", `[{"text":"` + long + `"},{"text":"` + long + `"}]`, "", "nothing was added: the records have 1400024 bytes"},
		{"a number beyond what a client can read", `[{"a":1},{"e":1e400}]`, "", "1e400"},
		{"none", `[]`, "", "no records"},
		{"no record", `[{"a":1},7]`, "", "records"},
		{"null", `[{"a":1},null]`, "", "records"},
	} {
		before := len(content(t, log))
		said, refused := call(t, c, "append", `{"session":"coder/fix-42","records":`+x.records+`}`)
		if got := content(t, log)[before:]; got != x.want || refused != (x.refused != "") || !strings.Contains(said, x.refused) {
			t.Errorf("%s: %.200s\nadded %.200q\n want %.200q", x.name, said, got, x.want)
		}
	}
}

func content(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestHistoryFrom: the first record is 1.
func TestHistoryFrom(t *testing.T) {
	s := tree(t)
	log := filepath.Join(point(t, s), "home/1000/agent/coder/session/fix-42/messages.jsonl")
	if err := os.WriteFile(log, []byte("{\"n\":1}\n{\"n\":2}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := client(t, s)
	if said, refused := call(t, c, "history", `{"session":"coder","from":-1,"limit":1}`); !refused || !strings.Contains(said, "from is -1: the first record is 1") {
		t.Errorf("%s", said)
	}
	if said, refused := call(t, c, "history", `{"session":"coder","from":2}`); refused || said != "{\"n\":2}\n\nrecords 2 to 2 of 2" {
		t.Errorf("%q", said)
	}
}

// newest speaks to a server by the newest version of the protocol.
func newest(t *testing.T, s *Server) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	if _, err := s.mcp.Connect(context.Background(), there, nil); err != nil {
		t.Fatal(err)
	}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(context.Background(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func readParams(uri string) *mcp.ReadResourceParams { return &mcp.ReadResourceParams{URI: uri} }

// contentText returns text i of a result, "" when it has fewer.
func contentText(t *testing.T, r *mcp.CallToolResult, i int) string {
	t.Helper()
	if i >= len(r.Content) {
		return ""
	}
	return r.Content[i].(*mcp.TextContent).Text
}
