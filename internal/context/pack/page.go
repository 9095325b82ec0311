package pack

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// page is the text of a pack while it is written.
type page struct {
	w    *Workset
	out  strings.Builder
	cuts []int // where records start and end
}

// count counts the page from the counts of its parts: those that stood in the pack before are known.
func (p *page) count() int {
	text, sum, from := p.out.String(), 0, 0
	for _, at := range p.cuts {
		if splits(text, at) {
			sum += p.w.countShown(text[from:at])
			from = at
		}
	}
	return sum + p.w.countShown(text[from:])
}

// splits tells whether text counts as much as text[:at] and text[at:] do: where one line ends, after something that is seen,
// and the next begins with something that is seen and is no slash. See Tokenizer.
func splits(text string, at int) bool {
	if at < 2 || at >= len(text) || text[at-1] != '\n' {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(text[:at-1])
	return seen(before) && seen(rune(text[at])) && text[at] < utf8.RuneSelf && text[at] != '/'
}

func seen(r rune) bool { return r != ' ' && unicode.IsPrint(r) }

// doc writes a file's text as a section of its own and gives what it takes.
func (p *page) doc(title, text string) int {
	s := docSection(title, text)
	p.out.WriteString(s)
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
	p.out.WriteString("## " + title + "\n\n")
	open := false
	for i := range recs {
		r := &recs[i]
		if r.text == "" {
			continue
		}
		f := fence(r.text)
		if f != usualFence && open {
			p.out.WriteString(usualFence + "\n")
			open = false
		}
		if !open {
			p.out.WriteString(f + "\n")
		}
		r.start = p.out.Len()
		p.out.WriteString(r.text)
		r.end = p.out.Len()
		p.cuts = append(p.cuts, r.start, r.end)
		if open = f == usualFence; !open {
			p.out.WriteString(f + "\n")
		}
	}
	if open {
		p.out.WriteString(usualFence + "\n")
	}
	p.out.WriteByte('\n')
}
