package serve

import (
	"fmt"
	"os"
	"strings"

	"ctxfs/internal/frames"
	"ctxfs/internal/session"
)

// maxTitle bounds the title that a session gets of its first message, in characters.
const maxTitle = 80

// describe enters what is known of a session that a send made: the peer's program, and the first words as the title.
func describe(x *session.Session, p peer, q *frames.Request, by session.Caller) {
	_ = x.Describe(session.Description{Client: p.program(), Title: title(q.Input)}, by) // the session is as good without
}

// title returns a text on one line, cut to maxTitle characters.
func title(text string) string {
	line := []rune(strings.Join(strings.Fields(text), " "))
	if len(line) > maxTitle {
		return strings.TrimSpace(string(line[:maxTitle-1])) + "…"
	}
	return string(line)
}

// program returns the name of the peer's program, "" when its process is not there any more, or cannot be seen from here.
func (p peer) program() string {
	if p.pid <= 0 {
		return ""
	}
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", p.pid))
	return strings.TrimSpace(string(name))
}
