package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// packFile is what of pack.json is explained.
type packFile struct {
	Budget  int        `json:"budget_tokens"`
	Tokens  int        `json:"tokens"`
	Items   []packPart `json:"items"`
	Omitted []packPart `json:"omitted"`
}

// packPart is an item, or something left out.
type packPart struct {
	Kind   string             `json:"kind"`
	Source string             `json:"source"`
	Range  string             `json:"range"`
	Tokens int                `json:"tokens"`
	Score  float64            `json:"score"`
	Parts  map[string]float64 `json:"score_parts"`
	Cut    bool               `json:"cut"`
	Reason string             `json:"reason"`
	Path   string             `json:"path"`
	About  bool               `json:"tokens_estimated"`
}

// explain shows why a pack is as it is: a bar of the window by kind, then every item and everything left out. The bar is width columns
// wide.
func explain(w io.Writer, packJSON []byte, p pen, width int) error {
	var f packFile
	if err := json.Unmarshal(packJSON, &f); err != nil {
		return fmt.Errorf("pack.json: %w", err)
	}
	hues := f.window(w, p, width)
	var in, out table
	in.heads("IN", "KIND", "SOURCE", "TOKENS", "SCORE", "PARTS")
	for i, it := range f.Items {
		in.add(number(i+1), styled{hues[it.Kind], it.Kind}, styled{plain, it.where()}, number(it.Tokens), it.score(), styled{faint, it.why()})
	}
	out.heads("OUT", "KIND", "SOURCE", "TOKENS", "SCORE", "REASON", "WHOLE AT")
	for i, o := range f.Omitted {
		tokens := number(o.Tokens)
		if o.About {
			tokens.text = "~" + tokens.text
		}
		out.add(number(i+1), styled{hues[o.Kind], o.Kind}, styled{plain, o.where()}, tokens, o.score(), styled{plain, o.Reason}, styled{faint, o.Path})
	}
	fmt.Fprintln(w)
	if err := in.write(w, p); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return out.write(w, p)
}

func number(n int) styled { return styled{plain, strconv.Itoa(n)} }

func (p *packPart) score() styled { return styled{plain, strconv.FormatFloat(p.Score, 'f', 3, 64)} }

func (p *packPart) where() string {
	if p.Range == "" {
		return p.Source
	}
	return p.Source + ":" + p.Range
}

// why names the parts of a score.
func (p *packPart) why() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(p.Parts)) {
		out = append(out, fmt.Sprintf("%s %.2f", name, p.Parts[name]))
	}
	if p.Cut {
		out = append(out, "(cut)")
	}
	return strings.Join(out, " ")
}

// barWidth is the width of the window's bar, in columns; leastBar, on a narrow terminal.
const barWidth, leastBar = 72, 10

// barFor is the width of a bar that fits where w leads.
func barFor(w io.Writer) int {
	if wide := columns(w); wide > 0 {
		return max(min(barWidth, wide-len("||")), leastBar)
	}
	return barWidth
}

// share is what one kind takes of the window.
type share struct {
	kind   string
	tokens int
}

// shares adds up the items by kind, in the order of the pack. Headings and fences are what is left over.
func (p *packFile) shares() []share {
	var out []share
	at := map[string]int{}
	sum := 0
	for _, it := range p.Items {
		i, seen := at[it.Kind]
		if !seen {
			i = len(out)
			at[it.Kind] = i
			out = append(out, share{kind: it.Kind})
		}
		out[i].tokens += it.Tokens
		sum += it.Tokens
	}
	if rest := p.Tokens - sum; rest > 0 {
		out = append(out, share{"headings", rest})
	}
	return out
}

// window draws the budget as a bar: each kind its own mark and colour, and dots for what is free. It gives the styles of the kinds.
func (p *packFile) window(w io.Writer, ink pen, width int) map[string]string {
	marks, budget := []rune("█▓▒░▪▫▤▥▦▧▨▩"), max(p.Budget, 1)
	var bar strings.Builder
	drawn, used := 0, 0
	shares, hues := p.shares(), map[string]string{}
	for i, s := range shares {
		used += s.tokens
		hues[s.kind] = hue(i)
		n := max(min(used*width/budget, width)-drawn, 0)
		bar.WriteString(ink.as(hue(i), strings.Repeat(string(marks[i%len(marks)]), n)))
		drawn += n
	}
	bar.WriteString(ink.as(faint, strings.Repeat("·", width-drawn)))
	fmt.Fprintf(w, "%s of %d tokens\n|%s|\n", ink.as(bold, strconv.Itoa(p.Tokens)), p.Budget, bar.String())
	row := func(mark rune, style string, s share) {
		fmt.Fprintf(w, "  %s %7d  %5.1f %%\n", ink.as(style, fmt.Sprintf("%c %-18s", mark, oneLine(s.kind))), s.tokens, 100*float64(s.tokens)/float64(budget))
	}
	for i, s := range shares {
		row(marks[i%len(marks)], hue(i), s)
	}
	row('·', faint, share{"free", max(p.Budget-p.Tokens, 0)})
	return hues
}
