package mcp

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func subscribe(t *testing.T, c *mcp.ClientSession, uri string) {
	t.Helper()
	if err := c.Subscribe(context.Background(), &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
}

// TestGone: what nobody subscribes to any more is not looked at, however its clients went.
func TestGone(t *testing.T) {
	s := tree(t)
	pack := uri("home/1000/agent/coder/session/fix-42/context/pack.md")
	a, b := client(t, s), client(t, s)
	for range 2 { // again is once
		subscribe(t, a, pack)
		subscribe(t, b, pack)
	}
	if err := a.Unsubscribe(context.Background(), &mcp.UnsubscribeParams{URI: pack}); err != nil {
		t.Fatal(err)
	}
	s.changed()
	if len(s.watched) != 1 || len(s.watched[pack].users) != 1 {
		t.Fatalf("%d resources are watched, %v", len(s.watched), s.watched[pack])
	}
	subscribe(t, b, sessionsURI)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for range 1000 { // the server hears of it a little later
		if len(slices.Collect(s.mcp.Sessions())) == 1 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if s.changed(); len(s.watched) != 0 {
		t.Errorf("%d resources are watched for a client that is gone", len(s.watched))
	}
}

// TestListChanges: the list of sessions changes when one comes, under an agent that was there already too.
func TestListChanges(t *testing.T) {
	s := tree(t)
	list := filepath.Join(point(t, s), "home/1000/agent/coder/session/index/list")
	subscribe(t, client(t, s), sessionsURI)
	for _, text := range []string{"fix-42\n", "new\nfix-42\n", "fix-42\nnew\n"} {
		if err := os.WriteFile(list, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := s.changed(); !slices.Equal(got, []string{sessionsURI}) {
			t.Errorf("%q: %q changed", text, got)
		}
		if got := s.changed(); got != nil {
			t.Errorf("%q: %q changed again", text, got)
		}
	}
}

// TestRefused: who has no token holds no connection, whatever it still has to send.
func TestRefused(t *testing.T) {
	s := tree(t)
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- s.Serve(ctx, l, "a token of some length") }()
	for _, request := range []string{
		"GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer no\r\nContent-Length: 100\r\n\r\n{",
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n{",
	} {
		c := dial(t, l)
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(c)
		answer, err := http.ReadResponse(r, nil)
		if err != nil || answer.StatusCode != http.StatusUnauthorized {
			t.Fatalf("%s%v, %v", request, answer, err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Errorf("%s%v", request, err)
		}
		if _, err := r.ReadByte(); err != io.EOF {
			t.Errorf("%sthe connection stays: %v", request, err)
		}
	}
	stop()
	if err := <-over; err != nil {
		t.Error(err)
	}
}

// dial connects; a connection that the server does not end ends after half a minute, with another error.
func dial(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}
