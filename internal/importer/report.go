package importer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Report is what an import did. The source of the counts is the log: a "source record" is one JSON object of it.
type Report struct {
	Format    Format `json:"format"`
	SessionID string `json:"session_id"` // the session's own id, as the agent logged it
	CWD       string `json:"cwd"`        // the directory that the session started in
	Title     string `json:"title"`      // what the agent or its user called it, else the user's first words
	// Client is the program that wrote the log, and ClientVersion its version; "" where the log does not say.
	Client        string `json:"client,omitempty"`
	ClientVersion string `json:"client_version,omitempty"`
	Model         string `json:"model,omitempty"` // the model that answered last
	// ForkedFrom is the id of the session whose history this log replays at its start, where the log says so.
	ForkedFrom string `json:"forked_from,omitempty"`
	// Child is set for the log of a subagent. Agents is what the log of a session says of the subagents that it started: their
	// status by their ids.
	Child  *Child            `json:"child,omitempty"`
	Agents map[string]string `json:"agents,omitempty"`
	// Started and Ended are the least and the greatest time in the log; zero when it holds none.
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`

	Lines   int `json:"lines"`   // non-blank lines of the log; 0 for a conversation that shares them with others
	Records int `json:"records"` // source records; two objects on one line count two

	Messages int `json:"messages"` // written; a picture that occurs twice counts two blobs
	Events   int `json:"events"`
	Blobs    int `json:"blobs"`

	// The fate of the source records: each is in exactly one of these four (see Check).
	MessageRecords int            `json:"message_records"` // led to a message
	EventRecords   int            `json:"event_records"`   // led to an event and no message
	Merged         int            `json:"merged"`          // became part of a message that another source record led to
	Skipped        map[string]int `json:"skipped"`         // reason: number of source records

	MoreMessages int `json:"more_messages"` // messages beyond the first of one source record
	MoreEvents   int `json:"more_events"`   // events beside a message, and events that tell what changed between records

	// Bad counts what is no record, by reason. Each is kept whole in an event of type "import_error".
	Bad map[string]int `json:"bad"`
	// Omitted counts parts of written records that were left out because they repeat something or cannot be read.
	Omitted map[string]int `json:"omitted"`

	Calls           int `json:"calls"` // tool calls and their results, by id
	Results         int `json:"results"`
	UnpairedCalls   int `json:"unpaired_calls"` // calls without a result in the log, results without a call
	UnpairedResults int `json:"unpaired_results"`
}

// Check tells whether the counts add up: nothing that was read is unaccounted for, and nothing was written from nowhere.
func (r Report) Check() error {
	if got := r.MessageRecords + r.EventRecords + r.Merged + sum(r.Skipped); got != r.Records {
		return fmt.Errorf("import %s: %d records read, %d accounted for", r.Format, r.Records, got)
	}
	if got := r.MessageRecords + r.MoreMessages; got != r.Messages {
		return fmt.Errorf("import %s: %d messages written, %d accounted for", r.Format, r.Messages, got)
	}
	if got := r.EventRecords + r.MoreEvents + sum(r.Bad); got != r.Events {
		return fmt.Errorf("import %s: %d events written, %d accounted for", r.Format, r.Events, got)
	}
	return nil
}

// String gives the counts as one line.
func (r Report) String() string {
	var b strings.Builder
	b.WriteString("read " + plural(r.Records, "record"))
	if r.Lines != r.Records && r.Lines > 0 {
		b.WriteString(" on " + plural(r.Lines, "line"))
	}
	fmt.Fprintf(&b, ", wrote %s + %s", plural(r.Messages, "message"), plural(r.Events, "event"))
	if r.Blobs > 0 {
		b.WriteString(" + " + plural(r.Blobs, "blob"))
	}
	fmt.Fprintf(&b, " from %s records, merged %s, skipped %s, bad %s", comma(r.MessageRecords+r.EventRecords),
		comma(r.Merged), reasons(r.Skipped), reasons(r.Bad))
	return b.String()
}

func plural(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return comma(n) + " " + word
}

// reasons gives a sum and its parts, the greatest first.
func reasons(m map[string]int) string {
	keys := slices.Collect(maps.Keys(m))
	slices.SortFunc(keys, func(a, b string) int {
		if m[a] != m[b] {
			return m[b] - m[a]
		}
		return strings.Compare(a, b)
	})
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = k + " " + comma(m[k])
	}
	s := comma(sum(m))
	if len(parts) > 0 {
		s += " (" + strings.Join(parts, "; ") + ")"
	}
	return s
}

func sum(m map[string]int) int {
	n := 0
	for _, v := range m {
		n += v
	}
	return n
}

// comma writes n with a comma between thousands.
func comma(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
