package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	scheme = "ctxfs"
	// sessionsURI is the list of sessions.
	sessionsURI = scheme + ":///sessions"
	// maxListed is how many sessions resources/list tells, newest first. All are in the tree.
	maxListed = 100
)

// uri is that of a file of the mount.
func uri(name string) string { return (&url.URL{Scheme: scheme, Path: "/" + name}).String() }

// fileOf gives the file that a URI names.
func fileOf(raw string) (string, error) {
	u, err := url.Parse(raw)
	name := ""
	if err == nil {
		name = strings.TrimPrefix(u.Path, "/")
	}
	// The name of a pack may ask a question: pack?why.md. Not all clients escape it.
	if err == nil && u.RawQuery != "" {
		query, qerr := url.PathUnescape(u.RawQuery)
		name, err = name+"?"+query, qerr
	}
	if err != nil || u.Scheme != scheme || u.Host != "" || u.Fragment != "" || !fs.ValidPath(name) {
		return "", mcp.ResourceNotFoundError(raw)
	}
	return name, nil
}

func (s *Server) addResources() {
	s.mcp.AddResource(&mcp.Resource{URI: sessionsURI, Name: "sessions", Title: "Sessions, newest first", MIMEType: "application/json"}, s.readSessions)
	for _, t := range []mcp.ResourceTemplate{
		{URITemplate: scheme + ":///{+session}/context/pack.md", Name: "pack", Title: "What the model should see next", MIMEType: "text/markdown"},
		{URITemplate: scheme + ":///{+session}/context/pack@{budget}.md", Name: "pack at a budget", Title: "The pack at another budget in tokens", MIMEType: "text/markdown"},
		{URITemplate: scheme + ":///{+session}/context/recall/{question}", Name: "recall", Title: "Older records that answer a question", MIMEType: "text/markdown"},
		{URITemplate: scheme + ":///{+file}", Name: "file", Title: "Any file of the mount: messages.jsonl, latest.md, context/summary.md, …"},
	} {
		s.mcp.AddResourceTemplate(&t, s.readFile)
	}
	s.mcp.AddReceivingMiddleware(s.listing)
}

// listing answers resources/list with the packs of the newest sessions there are now.
func (s *Server) listing(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		list, ok := result.(*mcp.ListResourcesResult)
		if err != nil || !ok {
			return result, err
		}
		sessions, err := s.sessions("", maxListed)
		if errors.Is(err, ErrNotMounted) {
			return list, nil // clients list at their start; what is asked for says so
		}
		if err != nil {
			return nil, clean(err)
		}
		for _, x := range sessions {
			list.Resources = append(list.Resources, &mcp.Resource{URI: uri(x.Session + "/context/pack.md"), Name: x.Name,
				Title: "Pack of " + x.Name, Description: fmt.Sprintf("%s, updated %s", x.State, x.Updated), MIMEType: "text/markdown"})
		}
		return list, nil
	}
}

func (s *Server) readSessions(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	list, err := s.sessions("", maxListed)
	if err != nil {
		return nil, clean(err)
	}
	data, err := json.MarshalIndent(list, "", "  ")
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "application/json", Text: string(data)}}}, err
}

func (s *Server) readFile(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	name, err := fileOf(req.Params.URI)
	if err != nil {
		return nil, err
	}
	data, err := s.read(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	if err != nil {
		return nil, clean(err)
	}
	c := &mcp.ResourceContents{URI: req.Params.URI, MIMEType: mimeType(name, data)}
	if utf8.Valid(data) {
		c.Text = string(data)
	} else {
		c.Blob = data
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}, nil
}

func mimeType(name string, data []byte) string {
	switch {
	case !utf8.Valid(data):
		return "application/octet-stream"
	case strings.HasSuffix(name, ".jsonl"):
		return "application/x-ndjson"
	case strings.HasSuffix(name, ".json"):
		return "application/json"
	case strings.HasSuffix(name, ".md"), path.Base(path.Dir(name)) == "recall":
		return "text/markdown"
	}
	return "text/plain"
}
