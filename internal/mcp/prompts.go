package mcp

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"ctxfs/internal/session"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (s *Server) addPrompts() {
	which := &mcp.PromptArgument{Name: "session", Title: "Session", Description: "AGENT/SESSION, or AGENT for its current one", Required: true}
	s.mcp.AddPrompt(&mcp.Prompt{Name: "continue", Title: "Go on with a session", Description: "The session's pack, and the task to go on from there.",
		Arguments: []*mcp.PromptArgument{which, {Name: "budget", Title: "Budget", Description: "tokens; default: the session's"}}}, s.continuePrompt)
	s.mcp.AddPrompt(&mcp.Prompt{Name: "recall", Title: "Ask a session's past", Description: "What older records of the session say to a question.",
		Arguments: []*mcp.PromptArgument{which, {Name: "question", Title: "Question", Required: true}}}, s.recallPrompt)
}

func (s *Server) continuePrompt(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	budget := 0
	if text := req.Params.Arguments["budget"]; text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("budget %q is not a number of tokens", text)
		}
		if err := checkBudget(n); err != nil {
			return nil, err
		}
		budget = n
	}
	name := (session.PackFile{Budget: budget}).Name()
	return s.prompt(req, "context/"+name, "Go on with the work of the session below, from where it stands. What is left out there can be opened by the tool open, and looked for by the tool recall.")
}

func (s *Server) recallPrompt(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	question := strings.ReplaceAll(strings.TrimSpace(req.Params.Arguments["question"]), "/", " ")
	name := session.RecallName(question, defaultTokens)
	if question == "" || len(name) > nameMax {
		return nil, fmt.Errorf("question %.40q: a question has 1 to %d bytes", question, nameMax-len(name)+len(question))
	}
	return s.prompt(req, "context/recall/"+name, "Answer from the records below, and say by their numbers where it stands: "+question)
}

// prompt is a task, and a file of the session that the request names.
func (s *Server) prompt(req *mcp.GetPromptRequest, file, task string) (*mcp.GetPromptResult, error) {
	dir, err := s.find(req.Params.Arguments["session"])
	if err != nil {
		return nil, err
	}
	name := path.Join(dir, file)
	data, err := s.read(name)
	if err != nil {
		return nil, clean(err)
	}
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
		{Role: "user", Content: &mcp.TextContent{Text: task}},
		{Role: "user", Content: &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri(name), MIMEType: mimeType(name, data), Text: string(data)}}},
	}}, nil
}

// complete offers names of sessions for the argument session, of prompts and of resource templates.
func (s *Server) complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	result := &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}
	if req.Params.Argument.Name != "session" {
		return result, nil
	}
	list, err := s.sessions("", maxListed)
	if errors.Is(err, ErrNotMounted) {
		return result, nil
	}
	if err != nil {
		return nil, clean(err)
	}
	for _, x := range list {
		name := x.Name
		if req.Params.Ref != nil && req.Params.Ref.Type == "ref/resource" {
			name = x.Session
		}
		if strings.HasPrefix(name, req.Params.Argument.Value) {
			result.Completion.Values = append(result.Completion.Values, name)
		}
	}
	result.Completion.Total = len(result.Completion.Values)
	return result, nil
}
