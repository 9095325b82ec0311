package importer

import "fmt"

// Stream imports a log that still grows, line by line. Fed with the same lines it writes what Import would write, but for
// what Import writes at a log's end. Settle writes what is held back earlier than Import would, and so does a Paced sink.
type Stream struct {
	r *reader
	n int // lines so far
}

// settler is a handler that holds something back because the next lines may belong to it, or repeat it.
type settler interface {
	waits() bool
	settle() error
}

// turnEnder is a settler whose log says that the model's turn is over.
type turnEnder interface{ turnEnded() bool }

// cutter is a handler that collects a message from several lines.
type cutter interface{ cut() error }

// Streams tells whether a format's logs only ever grow by lines, so that they can be followed.
func Streams(f Format) bool {
	return oneOf(string(f), string(ClaudeCode), string(Codex), string(CopilotCLI), string(GeminiCLI), string(Pi))
}

// NewStream starts a session that is written to s. Its error wraps ErrFormat: not all formats can be followed.
func NewStream(f Format, s Sink) (*Stream, error) {
	k, err := formatOf(f)
	if err != nil {
		return nil, err
	}
	if !Streams(f) {
		return nil, fmt.Errorf("%w: %s is not written line by line", ErrFormat, f)
	}
	d := newReader(k, func(string) (Sink, error) { return s, nil }, nil)
	return &Stream{r: d}, d.next("")
}

// Line takes the next line of the log, with its '\n'. Errors are those of the Sink.
func (s *Stream) Line(line []byte) error {
	s.n++
	if err := s.r.line(line, s.n, true); err != nil {
		return err
	}
	return s.r.pause(s.n)
}

// Lines is how many lines were taken.
func (s *Stream) Lines() int { return s.n }

// Report returns what was read so far. Its title, model and version may still change; its Child and Agents change with the next line.
func (s *Stream) Report() Report { return s.r.report() }

// Waits tells whether something is held back.
func (s *Stream) Waits() bool {
	h, ok := s.r.h.(settler)
	return ok && h.waits()
}

// TurnEnded reports whether what is held back is the last message of a turn: at most lines that were written together
// with its last one still belong to it.
func (s *Stream) TurnEnded() bool {
	h, ok := s.r.h.(turnEnder)
	return ok && h.turnEnded()
}

// Settle writes all that is held back, as at the end of the log.
func (s *Stream) Settle() error {
	return s.r.settle()
}
