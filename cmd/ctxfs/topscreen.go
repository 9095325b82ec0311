package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"ctxfs/internal/top"

	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/color"
)

// sessionScreen is a terminal that shows sessions.
type sessionScreen struct {
	screen tcell.Screen
	point  string
	order  top.Order
	filter string
	typing bool // the filter
	got    looked
	rows   []top.Row // of got, those to be shown, in order
	marked string    // the session that is marked
	top    int       // index of the row that is shown first
	shown  atomic.Pointer[[]string]
}

// Lines of the screen that are no rows: a summary, the order and filter, headings; the keys.
const above, below = 3, 1

// run shows what looks give, and does what keys say, until somebody leaves.
func (s *sessionScreen) run(ctx context.Context, looks <-chan looked) error {
	for {
		s.draw()
		select {
		case <-ctx.Done():
			return nil
		case got := <-looks:
			if got.err != nil {
				return got.err
			}
			s.got = got
			s.choose()
		case ev := <-s.screen.EventQ():
			switch ev := ev.(type) {
			case nil:
				return nil // the terminal is gone
			case *tcell.EventKey:
				if s.key(ev) {
					return nil
				}
			case *tcell.EventResize:
				s.screen.Sync()
			}
		}
	}
}

// choose picks the rows to be shown.
func (s *sessionScreen) choose() {
	s.rows = top.Select(s.got.rows, s.filter, s.order)
	s.move(0)
}

// key does what a key says, and tells whether to leave.
func (s *sessionScreen) key(ev *tcell.EventKey) (leave bool) {
	if s.typing && s.typed(ev) {
		s.choose()
		return false
	}
	page := max(s.room()-1, 1)
	switch ev.Key() {
	case tcell.KeyCtrlC:
		return true
	case tcell.KeyUp:
		s.move(-1)
	case tcell.KeyDown:
		s.move(1)
	case tcell.KeyPgUp:
		s.move(-page)
	case tcell.KeyPgDn:
		s.move(page)
	case tcell.KeyHome:
		s.move(-len(s.rows))
	case tcell.KeyEnd:
		s.move(len(s.rows))
	case tcell.KeyCtrlL:
		s.screen.Sync()
	case tcell.KeyCtrlZ:
		s.pause()
	case tcell.KeyRune:
		return s.letter(ev.Str())
	}
	return false
}

func (s *sessionScreen) letter(key string) (leave bool) {
	switch key {
	case "q", "Q":
		return true
	case "k":
		s.move(-1)
	case "j":
		s.move(1)
	case "s":
		s.order = s.order.Next()
		s.top, s.marked = 0, ""
		s.choose()
	case "/":
		s.typing = true
	}
	return false
}

// typed takes what is typed for the filter; not all keys are for it.
func (s *sessionScreen) typed(ev *tcell.EventKey) bool {
	switch ev.Key() {
	case tcell.KeyEnter:
		s.typing = false
	case tcell.KeyEscape:
		s.typing, s.filter = false, ""
	case tcell.KeyBackspace, tcell.KeyDelete:
		_, n := utf8.DecodeLastRuneInString(s.filter)
		s.filter = s.filter[:len(s.filter)-n]
	case tcell.KeyRune:
		s.filter += ev.Str()
	default:
		return false
	}
	return true
}

// pause stops the program, as Ctrl-Z does, with the terminal as it was; fg(1) goes on with it.
func (s *sessionScreen) pause() {
	if s.screen.Suspend() != nil {
		return
	}
	goes := make(chan os.Signal, 1)
	signal.Notify(goes, syscall.SIGCONT)
	defer signal.Stop(goes)
	_ = syscall.Kill(0, syscall.SIGTSTP) // to what was started with it, as the terminal does; it may take effect a little later
	select {
	case <-goes:
	case <-time.After(shortest): // nobody stops what no shell waits for
	}
	_ = s.screen.Resume()
	s.screen.Sync()
}

// move marks the row that is n rows further down, and has it shown.
func (s *sessionScreen) move(n int) {
	if len(s.rows) == 0 {
		s.top = 0
		return
	}
	at := slices.IndexFunc(s.rows, func(r top.Row) bool { return r.Session == s.marked })
	at = min(max(max(at, 0)+n, 0), len(s.rows)-1)
	if n != 0 {
		s.marked = s.rows[at].Session
	}
	room := max(s.room(), 1)
	s.top = min(max(s.top, at-room+1), at)
	s.top = max(min(s.top, len(s.rows)-room), 0)
}

// room is how many rows fit.
func (s *sessionScreen) room() int {
	_, height := s.screen.Size()
	return max(height-above-below, 0)
}

// draw draws all; the library sends what changed.
func (s *sessionScreen) draw() {
	width, height := s.screen.Size()
	s.screen.Clear()
	s.put(0, 0, width, s.summary(), tcell.StyleDefault.Bold(true))
	s.put(0, 1, width, s.choice(), tcell.StyleDefault)
	cols := top.Columns(width)
	x := 0
	for _, c := range cols {
		s.cell(x, 2, c, c.Head, tcell.StyleDefault.Reverse(true))
		x += c.Width + top.Gap
	}
	var shown []string
	for i := range s.rows[min(s.top, len(s.rows)):] {
		if i >= s.room() {
			break
		}
		r := &s.rows[s.top+i]
		shown = append(shown, r.Session)
		s.row(above+i, width, cols, r)
	}
	s.shown.Store(&shown)
	s.put(0, max(height-below, above), width, "q quit  ↑↓ move  s order  / filter", tcell.StyleDefault.Dim(true))
	s.screen.Show()
}

func (s *sessionScreen) row(y, width int, cols []top.Column, r *top.Row) {
	marked := r.Session == s.marked
	if marked {
		s.put(0, y, width, strings.Repeat(" ", width), tcell.StyleDefault.Reverse(true))
	}
	x := 0
	for _, c := range cols {
		s.cell(x, y, c, c.Text(r, s.got.at), cellStyle(styleOf(c.Head, r)).Reverse(marked))
		x += c.Width + top.Gap
	}
}

// cellStyle is a style as the library has it.
func cellStyle(style string) tcell.Style {
	out := tcell.StyleDefault
	switch style {
	case bold:
		return out.Bold(true)
	case faint:
		return out.Dim(true)
	}
	if n, err := strconv.Atoi(style); err == nil && n >= 30 && n < 38 {
		return out.Foreground(color.PaletteColor(n - 30))
	}
	return out
}

// cell writes a text into a column, cut where it is too long.
func (s *sessionScreen) cell(x, y int, c top.Column, text string, style tcell.Style) {
	text = oneLine(text)
	if n := utf8.RuneCountInString(text); n > c.Width {
		text = string([]rune(text)[:max(c.Width-1, 0)]) + "…"
	} else if pad := strings.Repeat(" ", c.Width-n); c.Right {
		text = pad + text
	} else {
		text += pad
	}
	s.put(x, y, c.Width, text, style)
}

// put writes one line of text, no further than width.
func (s *sessionScreen) put(x, y, width int, text string, style tcell.Style) {
	text = oneLine(text)
	for end := x + width; text != "" && x < end; {
		rest, n := s.screen.Put(x, y, text, style)
		if n == 0 || rest == text {
			return
		}
		text, x = rest, x+n
	}
}

// summary tells of all sessions, and what the mount did.
func (s *sessionScreen) summary() string {
	if s.got.at.IsZero() {
		return "ctxfs top  " + s.point + "  looking…"
	}
	busy, records, bytes := 0, 0.0, 0.0
	for i := range s.got.rows {
		r := &s.got.rows[i]
		if r.BytesPerSecond > 0 {
			busy++
		}
		records, bytes = records+r.RecordsPerSecond, bytes+r.BytesPerSecond
	}
	text := fmt.Sprintf("ctxfs top  %s  %s, %d growing: %.1f records/s, %.0f bytes/s", s.point, count(len(s.got.rows), "session"), busy, records, bytes)
	built, hits := s.got.status["packs_built"], s.got.status["pack_cache_hits"]
	return text + fmt.Sprintf("  packs built %s, found ready %s  %s", built, hits, s.got.at.Format(time.TimeOnly))
}

// choice tells in which order which rows are shown.
func (s *sessionScreen) choice() string {
	text := "by " + string(s.order)
	if s.typing || s.filter != "" {
		text += "  filter: " + s.filter
	}
	if s.typing {
		text += "▏(Enter keeps it, Esc drops it)"
	}
	if len(s.rows) < len(s.got.rows) {
		text += fmt.Sprintf("  %d of %d", len(s.rows), len(s.got.rows))
	}
	return text
}
