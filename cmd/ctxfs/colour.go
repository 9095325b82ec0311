package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// colourFlag says whether output is in colour: auto, always or never.
type colourFlag struct{ when string }

func (c *colourFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.when, "color", "auto", "colours: auto (on a terminal, unless NO_COLOR is set), always, never")
}

// paint gives the pen for w. The flag counts before NO_COLOR (https://no-color.org), and that before the terminal.
func (c *colourFlag) paint(w io.Writer) (pen, error) {
	switch c.when {
	case "always":
		return pen{on: true}, nil
	case "never":
		return pen{}, nil
	case "auto":
		return pen{on: isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}, nil
	}
	return pen{}, usageError{fmt.Sprintf("--color is auto, always or never, not %q", c.when)}
}

// isTerminal tells whether people read w as it is written.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// columns is the width of the terminal behind w, else 0.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// pen writes in colours, or not.
type pen struct{ on bool }

// Styles, as parameters of SGR (ECMA-48, 8.3.117). Colours are the terminal's own sixteen, which its user chose.
const (
	plain = ""
	bold  = "1"
	faint = "2"
)

// as gives text in a style. The text is to be printable: what it says, it says to the terminal.
func (p pen) as(style, text string) string {
	if !p.on || style == plain || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// hue is the style of the nth of several kinds of things.
func hue(n int) string {
	all := [...]string{"36", "33", "32", "35", "34", "31", "96", "93", "92", "95", "94", "91"}
	return all[n%len(all)]
}
