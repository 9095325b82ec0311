package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
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

// explain shows why a pack is as it is: a bar of the window by kind, then every item and everything left out.
func explain(w io.Writer, packJSON []byte) error {
	var p packFile
	if err := json.Unmarshal(packJSON, &p); err != nil {
		return fmt.Errorf("pack.json: %w", err)
	}
	window(w, &p)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "\nIN\tKIND\tSOURCE\tTOKENS\tSCORE\tPARTS")
	for i, it := range p.Items {
		fmt.Fprintf(tw, "%d\t%s\t%s\t%d\t%.3f\t%s\n", i+1, it.Kind, it.where(), it.Tokens, it.Score, it.why())
	}
	fmt.Fprintln(tw, "\nOUT\tKIND\tSOURCE\tTOKENS\tSCORE\tREASON\tWHOLE AT")
	for i, o := range p.Omitted {
		about := ""
		if o.About {
			about = "~"
		}
		fmt.Fprintf(tw, "%d\t%s\t%s\t%s%d\t%.3f\t%s\t%s\n", i+1, o.Kind, o.where(), about, o.Tokens, o.Score, o.Reason, printable(o.Path))
	}
	return tw.Flush()
}

func (p *packPart) where() string {
	if p.Range == "" {
		return printable(p.Source)
	}
	return printable(p.Source + ":" + p.Range)
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

// barWidth is the width of the window's bar, in columns.
const barWidth = 72

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

// window draws the budget as a bar: each kind its own mark, and dots for what is free.
func window(w io.Writer, p *packFile) {
	marks, budget := []rune("█▓▒░▪▫▤▥▦▧▨▩"), max(p.Budget, 1)
	var bar []rune
	used := 0
	shares := p.shares()
	for i, s := range shares {
		used += s.tokens
		for len(bar) < min(used*barWidth/budget, barWidth) {
			bar = append(bar, marks[i%len(marks)])
		}
	}
	fmt.Fprintf(w, "%d of %d tokens\n|%s%s|\n", p.Tokens, p.Budget, string(bar), strings.Repeat("·", barWidth-len(bar)))
	row := func(mark rune, s share) {
		fmt.Fprintf(w, "  %c %-18s %7d  %5.1f %%\n", mark, s.kind, s.tokens, 100*float64(s.tokens)/float64(budget))
	}
	for i, s := range shares {
		row(marks[i%len(marks)], s)
	}
	row('·', share{"free", max(p.Budget-p.Tokens, 0)})
}
