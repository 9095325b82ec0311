// Package logs writes what a daemon has to say, as text for people and the journal or as JSON, by log/slog.
package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Formats.
const (
	Text = "text"
	JSON = "json"
)

// ErrFormat is the error of another format, ErrLevel of another level.
var (
	ErrFormat = errors.New("a format of logs is text or json")
	ErrLevel  = errors.New("a level of logs is debug, info, warn or error")
)

// Options say what is written, and how.
type Options struct {
	Format string
	Level  slog.Level
	// Journal: the text is for systemd's journal, which has the time and the name of the program itself. A line begins with its
	// priority (sd-daemon(3)), which the journal takes off.
	Journal bool
	Time    bool // begin each line of text with the time
}

// Levels returns the names of the levels.
func Levels() []string { return []string{"debug", "info", "warn", "error"} }

// ParseLevel reads the name of a level.
func ParseLevel(name string) (level slog.Level, err error) {
	if !slices.Contains(Levels(), name) {
		return 0, fmt.Errorf("%w, not %q", ErrLevel, name)
	}
	return level, level.UnmarshalText([]byte(name))
}

// New makes a logger. JSON is that of slog.JSONHandler; a line of text is the message, then key=value, quoted where it must be.
func New(w io.Writer, o Options) (*slog.Logger, error) {
	switch o.Format {
	case JSON:
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: o.Level})), nil
	case Text:
		t := &text{opt: o, shared: &shared{w: w}}
		t.attrs = slog.NewTextHandler(&t.shared.line, &slog.HandlerOptions{Level: o.Level, ReplaceAttr: onlyAttrs})
		return slog.New(t), nil
	}
	return nil, fmt.Errorf("%w, not %q", ErrFormat, o.Format)
}

// onlyAttrs leaves out what a line of text begins with.
func onlyAttrs(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && slices.Contains([]string{slog.TimeKey, slog.LevelKey, slog.MessageKey}, a.Key) {
		return slog.Attr{}
	}
	return a
}

// text is a handler of lines for people. slog.TextHandler writes the attributes.
type text struct {
	opt    Options
	attrs  slog.Handler
	shared *shared
}

// shared is what handlers of one writer have together.
type shared struct {
	mu   sync.Mutex // protects what is below; a leaf
	w    io.Writer
	line bytes.Buffer
}

func (t *text) Enabled(_ context.Context, l slog.Level) bool { return l >= t.opt.Level }

func (t *text) WithAttrs(a []slog.Attr) slog.Handler {
	return &text{t.opt, t.attrs.WithAttrs(a), t.shared}
}

func (t *text) WithGroup(name string) slog.Handler {
	return &text{t.opt, t.attrs.WithGroup(name), t.shared}
}

// Handle writes one line by one write(2).
func (t *text) Handle(ctx context.Context, r slog.Record) error {
	t.shared.mu.Lock()
	defer t.shared.mu.Unlock()
	line := &t.shared.line
	line.Reset()
	line.WriteString(t.head(r) + oneLine(r.Message) + " ")
	if err := t.attrs.Handle(ctx, r); err != nil {
		return err
	}
	_, err := t.shared.w.Write(append(bytes.TrimRight(line.Bytes(), " \n"), '\n'))
	return err
}

// head is what stands before the message.
func (t *text) head(r slog.Record) string {
	if t.opt.Journal {
		return "<" + strconv.Itoa(priority(r.Level)) + ">"
	}
	head := "ctxfs: "
	if t.opt.Time {
		head = r.Time.UTC().Format(time.RFC3339) + " " + head
	}
	switch {
	case r.Level >= slog.LevelError:
		head += "error: "
	case r.Level >= slog.LevelWarn:
		head += "warning: "
	case r.Level < slog.LevelInfo:
		head += "debug: "
	}
	return head
}

// priority is a level's in syslog(3).
func priority(l slog.Level) int {
	switch {
	case l >= slog.LevelError:
		return 3
	case l >= slog.LevelWarn:
		return 4
	case l >= slog.LevelInfo:
		return 6
	}
	return 7
}

// oneLine quotes a message that would not stay on its line, or do something to a terminal.
func oneLine(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
