package mcp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"ctxfs/internal/session"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type packArgs struct {
	Session string `json:"session" jsonschema:"AGENT/SESSION, AGENT for its current session, or a path in the mount"`
	Budget  int    `json:"budget,omitempty" jsonschema:"tokens; default: the session's"`
	Query   string `json:"query,omitempty" jsonschema:"what older records are ranked against; default: the newest request"`
	Target  string `json:"target,omitempty" jsonschema:"whom it is for: model (default), tool, user or reviewer"`
	At      int    `json:"at,omitempty" jsonschema:"as of this record; default: the newest"`
}

type recallArgs struct {
	Session  string `json:"session" jsonschema:"AGENT/SESSION, AGENT for its current session, or a path in the mount"`
	Question string `json:"question" jsonschema:"words to look for in the session's older records"`
}

type openArgs struct {
	Session string `json:"session" jsonschema:"AGENT/SESSION, AGENT for its current session, or a path in the mount"`
	Ref     string `json:"ref" jsonschema:"what a pack names: messages:12-18, messages:12.2, …"`
}

type historyArgs struct {
	Session string `json:"session" jsonschema:"AGENT/SESSION, AGENT for its current session, or a path in the mount"`
	From    int    `json:"from,omitempty" jsonschema:"number of the first record, from 1; default: so that the last ones are given"`
	Limit   int    `json:"limit,omitempty" jsonschema:"how many records; default 20, at most 1000"`
}

type sessionsArgs struct {
	Agent string `json:"agent,omitempty" jsonschema:"only this agent's"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many, newest first; default 20"`
}

type sessionsResult struct {
	Sessions []Session `json:"sessions"`
}

func (s *Server) addTools() {
	no := false
	look := func(title string) *mcp.ToolAnnotations {
		return &mcp.ToolAnnotations{Title: title, ReadOnlyHint: true, OpenWorldHint: &no}
	}
	mcp.AddTool(s.mcp, &mcp.Tool{Name: "sessions", Description: "List sessions, newest first.", Annotations: look("List sessions")}, s.sessionsTool)
	mcp.AddTool(s.mcp, &mcp.Tool{Name: "pack", Description: "The working set of a session under a token budget, with pointers to what was left out.", Annotations: look("Read a context pack")}, s.packTool)
	mcp.AddTool(s.mcp, &mcp.Tool{Name: "recall", Description: "Older records of a session that answer a question.", Annotations: look("Recall older records")}, s.recallTool)
	mcp.AddTool(s.mcp, &mcp.Tool{Name: "open", Description: "The exact text behind a pointer of a pack.", Annotations: look("Open what was left out")}, s.openTool)
	mcp.AddTool(s.mcp, &mcp.Tool{Name: "history", Description: "Records of a session as they were written, a JSON object a line, the last ones by default.", Annotations: look("Read history")}, s.historyTool)
	mcp.AddTool(s.mcp, &mcp.Tool{Name: "append", Description: "Add records to a session's history, as they are given. They cannot be changed afterwards.",
		Annotations: &mcp.ToolAnnotations{Title: "Append to history", DestructiveHint: &no, OpenWorldHint: &no}}, s.appendTool)
}

func text(data []byte) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(data)}}}
}

func (s *Server) sessionsTool(_ context.Context, _ *mcp.CallToolRequest, in sessionsArgs) (*mcp.CallToolResult, sessionsResult, error) {
	limit := in.Limit
	if limit <= 0 {
		limit = 20
	}
	list, err := s.sessions(in.Agent, limit)
	return nil, sessionsResult{list}, clean(err)
}

func (s *Server) packTool(_ context.Context, _ *mcp.CallToolRequest, in packArgs) (*mcp.CallToolResult, any, error) {
	if in.Target == "model" {
		in.Target = ""
	}
	f := session.PackFile{Budget: in.Budget, Query: in.Query, Target: in.Target, At: in.At}
	return s.file(in.Session, "context/"+f.Name())
}

func (s *Server) recallTool(_ context.Context, _ *mcp.CallToolRequest, in recallArgs) (*mcp.CallToolResult, any, error) {
	return s.named(in.Session, "context/recall", in.Question)
}

func (s *Server) openTool(_ context.Context, _ *mcp.CallToolRequest, in openArgs) (*mcp.CallToolResult, any, error) {
	return s.named(in.Session, "context/swap/open", in.Ref)
}

// named reads a file by a name that is a client's words.
func (s *Server) named(name, folder, words string) (*mcp.CallToolResult, any, error) {
	words = strings.ReplaceAll(strings.TrimSpace(words), "/", " ")
	if words == "" || words == "." || words == ".." || strings.ContainsRune(words, 0) {
		return nil, nil, fmt.Errorf("%q asks for nothing", words)
	}
	if len(words) > nameMax {
		return nil, nil, fmt.Errorf("too long by %d bytes: it is part of a file's name", len(words)-nameMax)
	}
	return s.file(name, folder+"/"+words)
}

// nameMax is the longest name of a file, NAME_MAX of POSIX.
const nameMax = 255

// file gives a file of a session.
func (s *Server) file(name, file string) (*mcp.CallToolResult, any, error) {
	dir, err := s.find(name)
	if err != nil {
		return nil, nil, err
	}
	if len(path.Base(file)) > nameMax {
		return nil, nil, fmt.Errorf("too long by %d bytes: it is part of a file's name", len(path.Base(file))-nameMax)
	}
	data, err := s.read(path.Join(dir, file))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EINVAL) {
		return nil, nil, fmt.Errorf("session %s has no %s", name, path.Base(file))
	}
	if err != nil {
		return nil, nil, clean(err)
	}
	return text(data), nil, nil
}
