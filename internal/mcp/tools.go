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
	Budget  int    `json:"budget,omitempty" jsonschema:"tokens, from 100; default: the session's own, at most 8000"`
	Query   string `json:"query,omitempty" jsonschema:"what older records are ranked against; default: the newest request"`
	Target  string `json:"target,omitempty" jsonschema:"whom the pack is for: model (default), tool, user or reviewer"`
	At      int    `json:"at,omitempty" jsonschema:"as of this record, from 1; default: the newest"`
}

type recallArgs struct {
	Session   string `json:"session" jsonschema:"AGENT/SESSION, AGENT for its current session, or a path in the mount"`
	Question  string `json:"question" jsonschema:"words to look for in the session's older records"`
	MaxTokens int    `json:"max_tokens,omitempty" jsonschema:"most tokens of the answer, 100 to 100000; default 4000. Matches beyond it are listed by their references"`
}

type openArgs struct {
	Session   string `json:"session" jsonschema:"AGENT/SESSION, AGENT for its current session, or a path in the mount"`
	Ref       string `json:"ref" jsonschema:"a reference that a pack, recall or history names: messages:12-18, messages:12.2, …"`
	Offset    int    `json:"offset,omitempty" jsonschema:"byte to go on from, as the answer before says; default 0"`
	MaxTokens int    `json:"max_tokens,omitempty" jsonschema:"most tokens of the answer, 100 to 100000; default 4000"`
}

type historyArgs struct {
	Session   string `json:"session" jsonschema:"AGENT/SESSION, AGENT for its current session, or a path in the mount"`
	From      int    `json:"from,omitempty" jsonschema:"number of the first record, from 1; default: the newest records"`
	Limit     int    `json:"limit,omitempty" jsonschema:"how many records, 1 to 1000; default 20"`
	MaxTokens int    `json:"max_tokens,omitempty" jsonschema:"most tokens of the answer, 100 to 100000; default 4000. Records are whole"`
}

type sessionsArgs struct {
	Agent string `json:"agent,omitempty" jsonschema:"only this agent's"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many, newest first, 1 to 100; default 20"`
}

type sessionsResult struct {
	Sessions []Session `json:"sessions"`
	More     bool      `json:"more,omitempty" jsonschema:"there are older ones: ask with a larger limit, or for one agent"`
}

func (s *Server) addTools() {
	no := false
	look := func(title string) *mcp.ToolAnnotations {
		return &mcp.ToolAnnotations{Title: title, ReadOnlyHint: true, OpenWorldHint: &no}
	}
	mcp.AddTool(s.mcp, &mcp.Tool{Name: "sessions", Annotations: look("List sessions"),
		Description: "List agents' sessions, newest first. Call it first when you do not know a session's name, or when a name was not found."}, s.sessionsTool)
	mcp.AddTool(s.mcp, &mcp.Tool{Name: "pack", Annotations: look("Read a context pack"),
		Description: "The working set of a session: facts, decisions, open work and the newest messages, under a token budget. Call it to take up a session's work, or to see where it stands. What is left out is named by references for the tool open."}, s.packTool)
	mcp.AddTool(s.mcp, &mcp.Tool{Name: "recall", Annotations: look("Recall older records"),
		Description: "The older records of a session that answer a question, best first. Call it when something was said or done earlier and is not in the pack: why was this decided, what did that command print. The text of a match that is cut or only listed is returned by the tool open."}, s.recallTool)
	mcp.AddTool(s.mcp, &mcp.Tool{Name: "open", Annotations: look("Open what was left out"),
		Description: "The exact text behind a reference. Call it when a pack, recall or history names one that you need whole: messages:12-18 are records, messages:12.2 is one block of a record. A long text comes in parts. Secrets are not masked."}, s.openTool)
	mcp.AddTool(s.mcp, &mcp.Tool{Name: "history", Annotations: look("Read history"),
		Description: "Records of a session as they were written, a JSON object a line, the newest by default. Call it when order and exact form matter; to find something, recall is shorter. Secrets are not masked."}, s.historyTool)
	mcp.AddTool(s.mcp, &mcp.Tool{Name: "append", Description: "Add records to a session's history, as they are given. Call it to leave a message, a decision or a result for whoever works on the session next. Records cannot be changed afterwards.",
		Annotations: &mcp.ToolAnnotations{Title: "Append to history", DestructiveHint: &no, OpenWorldHint: &no}}, s.appendTool)
}

// texts is a result of one or more texts; empty ones are left out.
func texts(parts ...string) *mcp.CallToolResult {
	r := &mcp.CallToolResult{Content: []mcp.Content{}}
	for _, p := range parts {
		if p != "" {
			r.Content = append(r.Content, &mcp.TextContent{Text: p})
		}
	}
	return r
}

func (s *Server) sessionsTool(_ context.Context, _ *mcp.CallToolRequest, in sessionsArgs) (*mcp.CallToolResult, sessionsResult, error) {
	most, err := limit(in.Limit, defaultRecords, maxListed)
	if err != nil {
		return nil, sessionsResult{}, err
	}
	list, err := s.sessions(in.Agent, most+1)
	if err == nil && len(list) == 0 && in.Agent != "" {
		err = s.unknown(in.Agent)
	}
	return nil, sessionsResult{list[:min(most, len(list))], len(list) > most}, clean(err)
}

func (s *Server) packTool(_ context.Context, _ *mcp.CallToolRequest, in packArgs) (*mcp.CallToolResult, any, error) {
	if err := checkPack(in); err != nil {
		return nil, nil, err
	}
	dir, err := s.find(in.Session)
	if err != nil {
		return nil, nil, err
	}
	if in.Target == session.PackTargets()[0] {
		in.Target = "" // the default has no name of its own
	}
	if in.Budget == 0 {
		in.Budget = s.budget(dir)
	}
	f := session.PackFile{Budget: in.Budget, Query: in.Query, Target: in.Target, At: in.At}
	data, err := s.file(dir, "context/"+f.Name())
	if errors.Is(err, errNoFile) && in.At > 0 {
		err = fmt.Errorf("at is %d: %w (the tool history says how many records there are)", in.At, err)
	}
	if err != nil {
		return nil, nil, err
	}
	return texts(string(data)), nil, nil
}

// budget returns the budget of a pack that is asked for without one: 0, the session's own, where that is small.
func (s *Server) budget(dir string) int {
	data, err := s.read(path.Join(dir, "context/budget"))
	if err != nil {
		return defaultBudget
	}
	b, err := session.ParseBudget(data)
	if err != nil || b.Tokens == 0 || b.Tokens > defaultBudget {
		return defaultBudget
	}
	return 0
}

func (s *Server) recallTool(_ context.Context, _ *mcp.CallToolRequest, in recallArgs) (*mcp.CallToolResult, any, error) {
	most, err := tokens(in.MaxTokens)
	if err != nil {
		return nil, nil, err
	}
	question, err := words("question", in.Question)
	if err != nil {
		return nil, nil, err
	}
	dir, err := s.find(in.Session)
	if err != nil {
		return nil, nil, err
	}
	data, err := s.file(dir, "context/recall/"+session.RecallName(question, most))
	if err != nil {
		return nil, nil, err
	}
	return texts(string(data)), nil, nil
}

func (s *Server) openTool(_ context.Context, _ *mcp.CallToolRequest, in openArgs) (*mcp.CallToolResult, any, error) {
	most, err := tokens(in.MaxTokens)
	if err != nil {
		return nil, nil, err
	}
	ref, err := words("ref", in.Ref)
	if err != nil {
		return nil, nil, err
	}
	dir, err := s.find(in.Session)
	if err != nil {
		return nil, nil, err
	}
	data, err := s.file(dir, "context/swap/open/"+ref)
	if errors.Is(err, errNoFile) {
		err = fmt.Errorf("%w: a reference is messages:12, messages:12-18 or messages:12.2 (block 2 of record 12); the tool history says how many records there are", err)
	}
	if err != nil {
		return nil, nil, err
	}
	part, note, err := s.page(string(data), in.Offset, most)
	if err != nil {
		return nil, nil, err
	}
	return texts(part, note), nil, nil
}

// words checks an argument that becomes a file's name.
func words(what, given string) (string, error) {
	text := strings.ReplaceAll(strings.TrimSpace(given), "/", " ")
	if text == "" || text == "." || text == ".." || strings.ContainsRune(text, 0) {
		return "", fmt.Errorf("%s is %q, which asks for nothing", what, given)
	}
	return text, nil
}

// nameMax is the longest name of a file, NAME_MAX of POSIX.
const nameMax = 255

// errNoFile is the error of a session's file that does not exist.
var errNoFile = errors.New("the session has no such file")

// file reads a file of a session.
func (s *Server) file(dir, file string) ([]byte, error) {
	name := path.Base(file)
	if len(name) > nameMax {
		return nil, fmt.Errorf("too long by %d bytes: it is part of a file's name", len(name)-nameMax)
	}
	data, err := s.read(path.Join(dir, file))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EINVAL) {
		return nil, fmt.Errorf("session %s has no %s: %w", s.shortName(dir), name, errNoFile)
	}
	return data, clean(err)
}
