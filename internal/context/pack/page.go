package pack

import (
	"strings"
)

// page is the text of a pack while it is written.
type page struct {
	w   *Workset
	out strings.Builder
}

// doc writes a file's text as a section of its own and gives what it takes.
func (p *page) doc(title, text string) int {
	s := docSection(title, text)
	p.out.WriteString(s)
	return p.w.tok.Count(s)
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
		if open = f == usualFence; !open {
			p.out.WriteString(f + "\n")
		}
	}
	if open {
		p.out.WriteString(usualFence + "\n")
	}
	p.out.WriteByte('\n')
}
