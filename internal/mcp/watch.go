package mcp

import (
	"context"
	"maps"
	"path"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// watched is a resource that clients subscribed to.
type watched struct {
	file  string // whose change is told
	state string
	users map[*mcp.ServerSession]bool
}

// subscribe has changes of a resource told. What is made of a session changes when its history does.
func (s *Server) subscribe(_ context.Context, req *mcp.SubscribeRequest) error {
	name, err := fileOf(req.Params.URI)
	if err != nil {
		return err
	}
	if parts := strings.SplitN(name, "/", 7); len(parts) == 7 && isSession(path.Join(parts[:6]...)) {
		name = path.Join(path.Join(parts[:6]...), "updated_at")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.watched[req.Params.URI]
	if w == nil {
		w = &watched{file: name, state: s.state(name), users: map[*mcp.ServerSession]bool{}}
		s.watched[req.Params.URI] = w
	}
	w.users[req.Session] = true
	return nil
}

func (s *Server) unsubscribe(_ context.Context, req *mcp.UnsubscribeRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.watched[req.Params.URI]; w != nil {
		delete(w.users, req.Session)
		s.drop(req.Params.URI, w)
	}
	return nil
}

// drop ends the watch of a resource that nobody subscribes to any more. s.mu is held.
func (s *Server) drop(uri string, w *watched) bool {
	if len(w.users) == 0 {
		delete(s.watched, uri)
	}
	return len(w.users) == 0
}

// state is what a file is known by while it does not change.
func (s *Server) state(name string) string {
	if scheme+":///"+name == sessionsURI {
		return s.indexes()
	}
	st, err := s.root.Stat(name)
	if err != nil {
		return err.Error()
	}
	text := st.ModTime().String()
	if path.Base(name) == "updated_at" {
		text, _ = s.value("", name)
	}
	return text
}

// watch tells of what changed until ctx is over. It asks the mount for nothing while nobody subscribes.
func (s *Server) watch(ctx context.Context) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for _, u := range s.changed() {
				_ = s.mcp.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: u}) // a client that is gone
			}
		}
	}
}

// changed gives the watched resources that changed since they were last looked at.
func (s *Server) changed() (uris []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	here := map[*mcp.ServerSession]bool{}
	for c := range s.mcp.Sessions() {
		here[c] = true
	}
	for u, w := range s.watched {
		maps.DeleteFunc(w.users, func(c *mcp.ServerSession, _ bool) bool { return !here[c] }) // who is gone does not unsubscribe
		if s.drop(u, w) {
			continue
		}
		if now := s.state(w.file); now != w.state {
			w.state = now
			uris = append(uris, u)
		}
	}
	return uris
}
