package pack

import (
	"fmt"
	"strings"

	"ctxfs/internal/context/recall"
	"ctxfs/internal/swap"
)

// minFocus is the least limit, in tokens, under which a part of a text is worth its mark.
const minFocus = 120

// focused gives, of a text that is over its limit, the start and the part that matches the query best, with the path
// where all of it is. ok is false where the text has no such part: it fits, or none matches, or it is the start.
func (f *flow) focused(text string, total, limit int, ref string) (out string, left int, ok bool) {
	if f.query == "" || limit < minFocus || total <= limit+cutMarker {
		return "", 0, false
	}
	room := limit - cutMarker // the mark says more than that of a plain cut
	head, rest := f.w.lines(text, room/4)
	parts, first := linesOf(rest, max(len(text)*(room*2/3)/total, 1)), strings.Count(head, "\n")+1
	k := recall.Best(f.query, append([]string{head}, parts...)) - 1
	if k < 0 {
		return "", 0, false
	}
	for _, p := range parts[:k] {
		first += strings.Count(p, "\n")
	}
	part, _ := f.w.lines(parts[k], room*3/4)
	if part == "" {
		return "", 0, false
	}
	mark := fmt.Sprintf("[... lines %d to %d of %d: cat %s]\n", first, first+strings.Count(part, "\n")-1, strings.Count(text, "\n")+1, swap.OpenPath(ref))
	return guard(head) + mark + guard(part), min(f.w.tok.Count(head)+f.w.tok.Count(part), total-1), true
}

// lines cuts text after the last line that ends within max tokens.
func (w *Workset) lines(text string, max int) (head, rest string) {
	n, _ := w.tok.Prefix(text, max)
	if n < len(text) {
		n = strings.LastIndexByte(text[:n], '\n') + 1
	}
	return text[:n], text[n:]
}

// linesOf splits text at ends of lines into parts of about size bytes.
func linesOf(text string, size int) []string {
	var parts []string
	for text != "" {
		n := min(size, len(text))
		if i := strings.LastIndexByte(text[:n], '\n'); i >= 0 {
			n = i + 1
		} else if i := strings.IndexByte(text[n:], '\n'); i >= 0 {
			n += i + 1
		} else {
			n = len(text)
		}
		parts = append(parts, text[:n])
		text = text[n:]
	}
	return parts
}
