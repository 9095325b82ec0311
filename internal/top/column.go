package top

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Column is a column of the table of sessions.
type Column struct {
	Head  string
	Width int // columns of the terminal that it takes at least
	Right bool
	Text  func(r *Row, now time.Time) string // may hold anything
	grows bool
	rank  int // the higher, the sooner it is left out
}

// barWidth is the width of the bar of a window.
const barWidth = 10

// Columns are those of a line of width, 0: all. Where there is no room for all, those go first that say least; the name stays. What
// is left over goes to the columns that have use for it.
func Columns(width int) []Column {
	cols := []Column{
		{Head: "SESSION", Width: 24, grows: true, Text: func(r *Row, _ time.Time) string { return r.Name }},
		{Head: "STATE", Width: 6, rank: 4, Text: func(r *Row, _ time.Time) string { return r.State }},
		{Head: "WINDOW", Width: barWidth, rank: 3, Text: func(r *Row, _ time.Time) string { return Bar(r.Share(), barWidth) }},
		{Head: "TOKENS", Width: 13, rank: 1, Right: true, Text: func(r *Row, _ time.Time) string { return tokens(r) }},
		{Head: "PACK", Width: 7, rank: 2, Text: func(r *Row, _ time.Time) string { return string(r.Pack) }},
		{Head: "REC/S", Width: 6, rank: 5, Right: true, Text: func(r *Row, _ time.Time) string { return rate(r.RecordsPerSecond) }},
		{Head: "B/S", Width: 6, rank: 6, Right: true, Text: func(r *Row, _ time.Time) string { return size(r.BytesPerSecond) }},
		{Head: "LOG", Width: 6, rank: 7, Right: true, Text: func(r *Row, _ time.Time) string { return size(float64(r.Bytes)) }},
		{Head: "AGE", Width: 4, rank: 8, Right: true, Text: func(r *Row, now time.Time) string { return age(now.Sub(r.Updated)) }},
		{Head: "ABOUT", Width: 12, rank: 9, grows: true, Text: func(r *Row, _ time.Time) string { return r.About() }},
	}
	for width > 0 && len(cols) > 1 && taken(cols) > width {
		cols = without(cols)
	}
	if width > 0 {
		cols[0].Width = min(cols[0].Width, width)
	}
	for left := width - taken(cols); left > 0; {
		for i := range cols {
			if cols[i].grows && left > 0 {
				cols[i].Width++
				left--
			}
		}
	}
	return cols
}

// Gap is what stands between two columns.
const Gap = 1

func taken(cols []Column) int {
	sum := Gap * (len(cols) - 1)
	for _, c := range cols {
		sum += c.Width
	}
	return sum
}

// without leaves out the column that says least.
func without(cols []Column) []Column {
	least := 0
	for i, c := range cols {
		if c.rank > cols[least].rank {
			least = i
		}
	}
	return append(cols[:least:least], cols[least+1:]...)
}

// Bar draws a share as a bar: a full one for 1 and more.
func Bar(share float64, width int) string {
	n := int(share*float64(width) + 0.5)
	if share > 0 && n == 0 {
		n = 1
	}
	n = min(max(n, 0), width)
	return strings.Repeat("█", n) + strings.Repeat("·", width-n)
}

func tokens(r *Row) string {
	if r.Budget == 0 {
		return "-"
	}
	return strconv.Itoa(r.Tokens) + "/" + strconv.Itoa(r.Budget)
}

func rate(perSecond float64) string {
	if perSecond >= 100 || perSecond == 0 {
		return fmt.Sprintf("%.0f", perSecond)
	}
	return fmt.Sprintf("%.1f", perSecond)
}

// size writes bytes with at most three digits and a unit: 1023, 1.5K, 23M.
func size(n float64) string {
	units := "KMGTP"
	if n < 1024 {
		return fmt.Sprintf("%.0f", n)
	}
	i := -1
	for n >= 999.5 && i < len(units)-1 {
		n /= 1024
		i++
	}
	if n < 9.95 {
		return fmt.Sprintf("%.1f%c", n, units[i])
	}
	return fmt.Sprintf("%.0f%c", n, units[i])
}

func age(d time.Duration) string {
	switch day := 24 * time.Hour; {
	case d < 0:
		return "0s" // the clocks differ
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < day:
		return fmt.Sprintf("%dh", d/time.Hour)
	default:
		return fmt.Sprintf("%dd", d/day)
	}
}
