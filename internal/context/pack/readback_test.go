package pack

import (
	"fmt"
	"regexp"
	"strings"
)

// readPage is what a reader who knows nothing but Markdown's fences and our markers takes from pack.md.
type readPage struct {
	blocks map[string]string // the text of each block of a record, by "12.2"
	docs   map[string]string // the text of each file, by its section's title
}

var (
	markerLine = regexp.MustCompile(`^\[(\d+)(?:\.(\d+))? (.*)\]$`)
	fenceLine  = regexp.MustCompile("^(`{3,}|~{3,})(.*)$")
)

// readMarkdown takes pack.md apart. It refuses text outside of fences that is not ours, a fence that stays open, a
// marker that comes twice, and text before a section's first marker.
func readMarkdown(text string) (*readPage, error) {
	p := &readPage{blocks: map[string]string{}, docs: map[string]string{}}
	title, open, block := "", "", ""
	for i, l := range strings.SplitAfter(text, "\n") {
		l, nl := strings.CutSuffix(l, "\n")
		m := fenceLine.FindStringSubmatch(l)
		switch {
		case open == "" && m != nil:
			open = m[1]
		case open != "" && m != nil && strings.HasPrefix(m[1], open) && strings.TrimSpace(m[2]) == "":
			open = ""
		case open == "" && strings.HasPrefix(l, "## "):
			title, block = l[3:], ""
		case open == "":
			if !ours(l, i) {
				return nil, fmt.Errorf("line %d stands outside of a fence: %q", i+1, l)
			}
		default:
			if nl {
				l += "\n"
			}
			if err := p.line(title, &block, l); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		}
	}
	if open != "" {
		return nil, fmt.Errorf("a fence is not closed")
	}
	return p, nil
}

// ours tells whether line i may stand outside of fences: the title, its sentence, or what the smallest packs say.
func ours(l string, i int) bool {
	return l == "" || i == 0 && strings.HasPrefix(l, "# Context pack") || i == 2 && strings.HasPrefix(l, "Budget ") || i <= 3 && strings.HasPrefix(l, "error")
}

// line takes a line within a fence.
func (p *readPage) line(title string, block *string, l string) error {
	if !isMessages(title) {
		p.docs[title] += l
		return nil
	}
	if m := markerLine.FindStringSubmatch(strings.TrimSuffix(l, "\n")); m != nil && !strings.HasPrefix(l, "[...") {
		if m[2] == "" {
			m[2] = "1"
		}
		*block = m[1] + "." + m[2]
		if _, twice := p.blocks[*block]; twice {
			return fmt.Errorf("the marker of block %s comes twice", *block)
		}
		p.blocks[*block] = ""
		return nil
	}
	if *block == "" {
		return fmt.Errorf("stands before any marker: %q", l)
	}
	p.blocks[*block] += l
	return nil
}

func isMessages(title string) bool {
	return strings.HasPrefix(title, "messages from ") || strings.HasPrefix(title, "older messages ") || strings.HasPrefix(title, "latest user message")
}
