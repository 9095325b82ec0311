package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"
)

// line gives what a record is written as.
func line(t *testing.T, o Options, level slog.Level, msg string, args ...any) string {
	t.Helper()
	var out bytes.Buffer
	l, err := New(&out, o)
	if err != nil {
		t.Fatal(err)
	}
	r := slog.NewRecord(time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), level, msg, 0)
	r.Add(args...)
	if l.Enabled(t.Context(), level) {
		if err := l.Handler().Handle(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

func TestText(t *testing.T) {
	odd := "a\n<0>b \x1b[2Jc=\"d\"\u202e"
	for _, c := range []struct {
		opt   Options
		level slog.Level
		msg   string
		args  []any
		want  string
	}{
		{Options{}, slog.LevelInfo, "serving", nil, "ctxfs: serving\n"},
		{Options{}, slog.LevelWarn, "worker died: starting another", []any{"worker", 7, "lived", time.Minute, "why", "signal: killed"},
			"ctxfs: warning: worker died: starting another worker=7 lived=1m0s why=\"signal: killed\"\n"},
		{Options{Journal: true}, slog.LevelError, "no", []any{"error", errors.New("x y")}, "<3>no error=\"x y\"\n"},
		{Options{Journal: true, Time: true}, slog.LevelInfo, "yes", nil, "<6>yes\n"},
		{Options{Time: true}, slog.LevelError, "no", nil, "2026-01-02T03:04:05Z ctxfs: error: no\n"},
		{Options{}, slog.LevelDebug, "no", nil, ""},
		{Options{Level: slog.LevelDebug}, slog.LevelDebug, "yes", nil, "ctxfs: debug: yes\n"},
		{Options{Level: slog.LevelError}, slog.LevelWarn, "no", nil, ""},
		{Options{}, slog.LevelInfo, odd, []any{"name", odd}, `ctxfs: "a\n<0>b \x1b[2Jc=\"d\"\u202e" name="a\n<0>b \x1b[2Jc=\"d\"\u202e"` + "\n"},
		{Options{}, slog.LevelInfo, "m", []any{"msg", "kept?", slog.Group("g", "time", 1)}, "ctxfs: m g.time=1\n"},
	} {
		c.opt.Format = Text
		if got := line(t, c.opt, c.level, c.msg, c.args...); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}

func TestJSON(t *testing.T) {
	var got map[string]any
	if err := json.Unmarshal([]byte(line(t, Options{Format: JSON}, slog.LevelWarn, "a\nb", "name", "\x1b")), &got); err != nil {
		t.Fatal(err)
	}
	if got["msg"] != "a\nb" || got["name"] != "\x1b" || got["level"] != "WARN" || got["time"] == nil {
		t.Errorf("%v", got)
	}
}

func TestWrongOptions(t *testing.T) {
	if _, err := New(nil, Options{Format: "xml"}); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
	for _, name := range []string{"", "INFO", "trace", "info+2"} {
		if _, err := ParseLevel(name); !errors.Is(err, ErrLevel) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if l, err := ParseLevel("warn"); l != slog.LevelWarn || err != nil {
		t.Error(l, err)
	}
}

func TestWithAttrs(t *testing.T) {
	var out bytes.Buffer
	l, err := New(&out, Options{Format: Text})
	if err != nil {
		t.Fatal(err)
	}
	l.With("a", 1).WithGroup("g").Info("m", "b", 2)
	if out.String() != "ctxfs: m a=1 g.b=2\n" {
		t.Errorf("%q", out.String())
	}
}
