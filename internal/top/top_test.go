package top

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ctxfs/internal/session"
)

func row(name string, bytes, tokens, budget int, rate float64, updated int64) Row {
	return Row{Name: name, Session: "home/1/agent/" + name, BytesPerSecond: rate,
		Glance: session.Glance{Bytes: int64(bytes), Tokens: tokens, Budget: budget, Updated: time.Unix(updated, 0)}}
}

func TestSelect(t *testing.T) {
	rows := []Row{
		row("a/quiet", 900, 0, 0, 0, 100),
		row("a/fast", 10, 50, 100, 7, 50),
		row("b/full", 10, 90, 100, 0, 90),
		row("b/large", 5000, 80, 1000, 0, 90),
	}
	rows[3].CWD = "/Work"
	for _, c := range []struct {
		text string
		by   Order
		want string
	}{
		{"", "activity", "a/fast a/quiet b/full b/large"},
		{"", "tokens", "b/full a/fast b/large a/quiet"},
		{"", "size", "b/large a/quiet b/full a/fast"},
		{"", "name", "a/fast a/quiet b/full b/large"},
		{"B/", "size", "b/large b/full"},
		{"work", "name", "b/large"},
		{"nothing", "name", ""},
	} {
		var got []string
		for _, r := range Select(rows, c.text, c.by) {
			got = append(got, r.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q by %s: %v, not %s", c.text, c.by, got, c.want)
		}
	}
}

func TestOrdersGoRound(t *testing.T) {
	o := Orders()[0]
	for range Orders() {
		o = o.Next()
	}
	if o != Orders()[0] {
		t.Errorf("after all of them comes %s", o)
	}
}

// On each width the columns fill the line, and the name is among them.
func TestColumns(t *testing.T) {
	heads := map[int]string{0: "SESSION STATE WINDOW TOKENS PACK REC/S B/S LOG AGE ABOUT", 200: "SESSION STATE WINDOW TOKENS PACK REC/S B/S LOG AGE ABOUT",
		80: "SESSION STATE WINDOW TOKENS PACK REC/S B/S", 46: "SESSION TOKENS PACK", 10: "SESSION"}
	for width := range 201 {
		cols := Columns(width)
		var names []string
		for _, c := range cols {
			names = append(names, c.Head)
		}
		if got := taken(cols); width > 0 && got != width || cols[0].Head != "SESSION" {
			t.Errorf("%d: %d columns are taken by %v", width, got, names)
		}
		if want := heads[width]; want != "" && strings.Join(names, " ") != want {
			t.Errorf("%d: %v, not %s", width, names, want)
		}
	}
}

func TestTexts(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Bar(0, 4), "····"}, {Bar(0.001, 4), "█···"}, {Bar(0.5, 4), "██··"}, {Bar(1, 4), "████"}, {Bar(7, 4), "████"}, {Bar(-1, 4), "····"},
		{size(0), "0"}, {size(1023), "1023"}, {size(1024), "1.0K"}, {size(1023 * 1024), "1.0M"}, {size(12.3 * 1024), "12K"}, {size(9.96 * 1024), "10K"}, {size(5e18), "4441P"},
		{rate(0), "0"}, {rate(0.25), "0.2"}, {rate(99.5), "99.5"}, {rate(1234.5), "1234"},
		{age(-time.Hour), "0s"}, {age(59 * time.Second), "59s"}, {age(60 * time.Second), "1m"}, {age(25 * time.Hour), "1d"},
		{tokens(&Row{}), "-"}, {tokens(&Row{Glance: session.Glance{Tokens: 3, Budget: 10}}), "3/10"},
	} {
		if c.got != c.want {
			t.Errorf("%q, not %q", c.got, c.want)
		}
	}
}

// A session that is large by every measure keeps to the columns' widths.
func TestColumnsHoldTheirTexts(t *testing.T) {
	r := row("a/b", 1<<40, 999_999, 999_999, 1<<40, 0)
	r.RecordsPerSecond, r.State, r.Pack = 99_999, "active", session.PackResting
	for _, c := range Columns(0) {
		if c.grows {
			continue
		}
		if text := c.Text(&r, time.Unix(1e9, 0)); utf8.RuneCountInString(text) > c.Width && c.Head != "AGE" {
			t.Errorf("%s: %q is wider than %d", c.Head, text, c.Width)
		}
	}
}

func TestNoMount(t *testing.T) {
	dir := t.TempDir()
	l := New(dir+"/none", 1, 0)
	if err := l.Look(time.Now(), nil); err == nil {
		t.Error("what is not there was looked at")
	}
	l = New(dir, 0, 0)
	if err := l.Look(time.Now(), []string{"home/1/agent/a/session/b"}); err != nil || len(l.Rows()) != 0 {
		t.Errorf("an empty folder: %v, %v", err, l.Rows())
	}
}

func TestShortName(t *testing.T) {
	l := New("/", 7, 0)
	for in, want := range map[string]string{
		"home/7/agent/coder/session/s": "coder/s",
		"home/7/agent/coder/temp/s":    "coder/s (temp)",
		"home/8/agent/coder/session/s": "home/8/agent/coder/session/s",
		"shared/x/agent/a/session/s":   "shared/x/agent/a/session/s",
	} {
		if got := l.shortName(in); got != want {
			t.Errorf("%s: %s, not %s", in, got, want)
		}
	}
}
