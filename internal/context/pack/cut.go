package pack

import (
	"fmt"
	"strings"

	"ctxfs/internal/swap"
)

// cutText gives at most about limit tokens of text: its start and its end, whole lines where lines are short, and
// between them what was left out and where it can be read. total is the count of text. What cutting would hardly shorten stays whole.
func (w *Workset) cutText(text string, total, limit int, ref string) (out string, left int) {
	if total <= limit+cutMarker {
		return text, total
	}
	head, a := w.tok.Prefix(text, limit*2/3)
	if i := strings.LastIndexByte(text[:head], '\n'); i > head*3/4 {
		head = i
	}
	rest := text[head:]
	n, b := w.tok.Suffix(rest, limit-limit*2/3)
	tail := rest[len(rest)-n:]
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/4 {
		tail = tail[i+1:]
	}
	mark := fmt.Sprintf("\n[... %d tokens cut: cat %s]\n", max(total-a-b, 1), swap.OpenPath(ref))
	return guard(strings.TrimRight(text[:head], "\n")) + mark + guard(tail), a + b
}
