package pack

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// page is the text of a pack while it is written.
type page struct {
	w    *Workset
	out  []byte
	cuts []int // where records and the texts of files start and end
}

// count counts the page from the counts of its parts: those that stood in the pack before are known.
func (p *page) count() int {
	sum, from := 0, 0
	for _, at := range p.cuts {
		if splits(p.out, at, p.w.lineEnds) {
			sum += p.w.countBytes(p.out[from:at])
			from = at
		}
	}
	return sum + p.w.countBytes(p.out[from:])
}

// newPage is an empty page with room for as much as the last one of w had.
func newPage(w *Workset) page { return page{w: w, out: make([]byte, 0, w.pageSize+w.pageSize/16)} }

func (p *page) write(parts ...string) {
	for _, s := range parts {
		p.out = append(p.out, s...)
	}
}

// bytes gives the page, which is done.
func (p *page) bytes() []byte {
	p.w.pageSize = len(p.out)
	if cap(p.out) > len(p.out)+len(p.out)/4 {
		return bytes.Clone(p.out)
	}
	return slices.Clip(p.out)
}

// cut notes that the page may be counted up to here and from here on.
func (p *page) cut() int {
	p.cuts = append(p.cuts, len(p.out))
	return len(p.out)
}

// splits tells whether text counts as much as text[:at] and text[at:] do: where a line ends and the next begins with something
// that is seen and is no slash. Unless lineEnds says that no blanks before the line's end go beyond it, something that is seen
// must stand there. See Tokenizer.
func splits(text []byte, at int, lineEnds bool) bool {
	if at < 2 || at >= len(text) || text[at-1] != '\n' || text[at] == '/' || text[at] >= utf8.RuneSelf || !seen(rune(text[at])) {
		return false
	}
	before, _ := utf8.DecodeLastRune(text[:at-1])
	return lineEnds || seen(before)
}

// splitsAtLineEnds tells whether an encoding takes blanks up to the last line end among them as one.
func splitsAtLineEnds(encoding string) bool {
	return encoding == "o200k_base" || encoding == "cl100k_base"
}

func seen(r rune) bool { return r != ' ' && unicode.IsPrint(r) }

// doc writes a file's text as a section of its own and gives what it takes.
func (p *page) doc(title, text string) int {
	s := docSection(title, text)
	f := fence(text) // the text ends before its second one
	p.write(s[:len(s)-len(f)-2])
	p.cut()
	p.write(s[len(s)-len(f)-2:])
	return p.w.countShown(s)
}

func docSection(title, text string) string {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	f := fence(text)
	return "## " + title + "\n\n" + f + "\n" + text + f + "\n\n"
}

// messages writes records as one section. Its fence is the usual one as long as the records allow it, and a record
// that does not gets a fence of its own: so a later record never changes the bytes before it.
func (p *page) messages(title string, recs []shownRecord) {
	p.write("## ", title, "\n\n")
	open := false
	for i := range recs {
		r := &recs[i]
		if r.text == "" {
			continue
		}
		f := fence(r.text)
		if f != usualFence && open {
			p.write(usualFence, "\n")
			open = false
		}
		if !open {
			p.write(f, "\n")
		}
		r.start = p.cut()
		p.write(r.text)
		r.end = p.cut()
		if open = f == usualFence; !open {
			p.write(f, "\n")
		}
	}
	if open {
		p.write(usualFence, "\n")
	}
	p.write("\n")
}
