package main

import (
	"io"
	"strings"
	"unicode/utf8"
)

// styled is a text of one line, in a style.
type styled struct{ style, text string }

// table is rows of cells, in columns as wide as what stands in them.
type table struct{ rows [][]styled }

// add adds a row. Texts may hold anything: it is shown on one line, and harmless.
func (t *table) add(cells ...styled) {
	for i := range cells {
		cells[i].text = oneLine(cells[i].text)
	}
	t.rows = append(t.rows, cells)
}

// heads adds a row of headings.
func (t *table) heads(names ...string) {
	var cells []styled
	for _, n := range names {
		cells = append(cells, styled{bold, n})
	}
	t.add(cells...)
}

// gap is what stands between two columns.
const gap = 2

func (t *table) write(w io.Writer, p pen) error {
	var wide []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(wide) {
				wide = append(wide, 0)
			}
			wide[i] = max(wide[i], utf8.RuneCountInString(c.text))
		}
	}
	var b strings.Builder
	for _, row := range t.rows {
		for i, c := range row {
			b.WriteString(p.as(c.style, c.text))
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", wide[i]+gap-utf8.RuneCountInString(c.text)))
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// oneLine is printable for a cell: newlines and tabs are shown as escapes too.
func oneLine(s string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(printable(s))
}
