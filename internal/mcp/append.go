package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"ctxfs/internal/record"
	"ctxfs/internal/session"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// appendArgs has records for the tool's schema only: what is written is taken from the request, see linesOf.
type appendArgs struct {
	Session string           `json:"session" jsonschema:"AGENT/SESSION, AGENT for its current session, or a path in the mount"`
	Records []map[string]any `json:"records" jsonschema:"records as in messages.jsonl: {role, content, …}, in their order; one, or at most 1 MiB of them"`
	Create  bool             `json:"create,omitempty" jsonschema:"make the session when it is not there"`
}

func (s *Server) appendTool(_ context.Context, req *mcp.CallToolRequest, in appendArgs) (*mcp.CallToolResult, any, error) {
	lines, count, err := linesOf(req.Params.Arguments)
	if err != nil {
		return nil, nil, err
	}
	dir, err := s.find(in.Session)
	if errors.Is(err, errNoSession) && in.Create {
		dir, err = s.create(in.Session)
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := s.root.OpenFile(path.Join(dir, session.Messages), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, nil, clean(err)
	}
	_, err = f.Write(lines)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, nil, clean(err)
	}
	return texts(fmt.Sprintf("%d records were added to %s", count, s.shortName(dir))), nil, nil
}

// maxAppend is how many bytes of more than one record a call adds: 1 MiB less a page, which the kernel hands to a mount in one
// piece wherever in memory it begins. A mount takes such a write whole or not at all; and a record, however long it is.
func maxAppend() int { return 1<<20 - os.Getpagesize() }

// linesOf gives the records of a call as lines. They are those of the request, byte for byte but for space between values: decoded
// and written again, numbers beyond 2^53 and the order of keys would be lost.
func linesOf(arguments json.RawMessage) (lines []byte, count int, err error) {
	var in struct {
		Records []json.RawMessage `json:"records"`
	}
	if err := json.Unmarshal(arguments, &in); err != nil {
		return nil, 0, err
	}
	var b bytes.Buffer
	for i, r := range in.Records {
		err := record.Check(r)
		if err == nil {
			err = json.Compact(&b, r)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("nothing was added: record %d of the call: %w", i+1, err)
		}
		b.WriteByte('\n')
	}
	if b.Len() > maxAppend() && len(in.Records) > 1 {
		return nil, 0, fmt.Errorf("nothing was added: the records have %d bytes, and one call adds at most %d, or one record: add them in several calls", b.Len(), maxAppend())
	}
	if len(in.Records) == 0 {
		return nil, 0, errors.New("there are no records to add")
	}
	return b.Bytes(), len(in.Records), nil
}

// create makes a session AGENT/SESSION of the user's.
func (s *Server) create(name string) (string, error) {
	agent, session, ok := strings.Cut(name, "/")
	dir := path.Join(s.home(), "agent", agent, "session", session)
	if !ok || !isSession(dir) {
		return "", fmt.Errorf("%q: a new session is AGENT/SESSION", name)
	}
	return dir, clean(s.root.MkdirAll(dir, 0o700))
}
