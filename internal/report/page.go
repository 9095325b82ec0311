package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// Size of the charts in units of the drawing; they take the width of the page.
const (
	chartWidth, chartHeight = 1000.0, 240.0
	toolsHeight             = 90.0
	usageHeight             = 140.0
)

// Render writes the page. What the log says is text in it, never markup; the page may load and run nothing but its own script.
func (s *Story) Render(w io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{"bytes": inBytes, "when": when, "classof": classOf}).Parse(pageHTML)
	if err != nil {
		return err
	}
	hash := sha256.Sum256([]byte(pageJS))
	return t.Execute(w, page{Story: s, CSS: template.CSS(pageCSS), JS: template.JS(pageJS), // #nosec G203 -- our own files
		Policy: "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'",
		Bars:   s.bars(), Kinds: s.kinds(), Marks: s.marks(), Budget: s.budgetLine(), Tools: s.toolLines(), Last: s.last(), Spent: s.Spent(), Calls: s.calls()})
}

// page is what the template is given.
type page struct {
	*Story
	CSS    template.CSS
	JS     template.JS
	Policy string
	Bars   []bar
	Kinds  []string
	Marks  []mark
	Budget string
	Tools  [2]string
	Last   Step
	Spent  Spent
	Calls  []call
}

// bar is one step in the chart.
type bar struct {
	Step  *Step
	N     int
	X, W  float64
	Parts []segment
	Label string
}

// segment is the part of a bar that one kind takes.
type segment struct {
	Kind   string
	Class  string
	Y, H   float64
	Tokens int
}

// mark is a compaction in the chart.
type mark struct {
	X     float64
	Label string
}

func (s *Story) last() Step {
	if len(s.Steps) == 0 {
		return Step{}
	}
	return s.Steps[len(s.Steps)-1]
}

// scale is how many tokens the chart's height stands for.
func (s *Story) scale() float64 {
	most := 1
	for i := range s.Steps {
		most = max(most, s.Steps[i].Pack.Tokens, s.Steps[i].Pack.Budget)
	}
	return float64(most) * 1.05
}

func (s *Story) bars() []bar {
	var out []bar
	kinds, scale := s.kinds(), s.scale()
	wide := chartWidth / float64(max(1, len(s.Steps)))
	for i := range s.Steps {
		step := &s.Steps[i]
		b := bar{Step: step, N: i + 1, X: float64(i) * wide, W: wide * 0.86,
			Label: fmt.Sprintf("step %d, record %d: %d of %d tokens, %d entered, %d left", i+1, step.At, step.Pack.Tokens, step.Pack.Budget, count(step.Entered), count(step.Left))}
		y := chartHeight
		for _, k := range kinds {
			tokens := step.Pack.of(k)
			h := float64(tokens) / scale * chartHeight
			y -= h
			if tokens > 0 {
				b.Parts = append(b.Parts, segment{Kind: k, Class: classOf(k), Y: y, H: h, Tokens: tokens})
			}
		}
		out = append(out, b)
	}
	return out
}

// count is of how many records and files changes are.
func count(changes []Change) (n int) {
	for i := range changes {
		n += max(1, changes[i].Records)
	}
	return n
}

// of is the tokens of items of a kind, in words.
func (p *Pack) of(kind string) (sum int) {
	for i := range p.Items {
		if kindInWords(p.Items[i].Kind) == kind {
			sum += p.Items[i].Tokens
		}
	}
	return sum
}

// kinds gives those that are in any pack, in the order of allKinds.
func (s *Story) kinds() (out []string) {
	for _, k := range allKinds() {
		if slices.ContainsFunc(s.Steps, func(x Step) bool { return x.Pack.of(k) > 0 }) {
			out = append(out, k)
		}
	}
	return out
}

// allKinds are the kinds of items in words, as they stand in a bar from below.
func allKinds() []string {
	return []string{"system", "pinned", "summary", "facts and decisions", "to do", "files referred to", "other work", "recalled", "recent", "else"}
}

func kindInWords(kind string) string {
	switch kind {
	case "system":
		return "system"
	case "pinned_ref":
		return "pinned"
	case "summary":
		return "summary"
	case "facts", "decisions":
		return "facts and decisions"
	case "todo":
		return "to do"
	case "refs":
		return "files referred to"
	case "child_result", "imported":
		return "other work"
	case "recalled_messages":
		return "recalled"
	case "recent_messages":
		return "recent"
	}
	return "else"
}

// classOf is the class of a kind's colour.
func classOf(kind string) string { return fmt.Sprintf("k%d", slices.Index(allKinds(), kind)) }

// marks are the compactions, each before the first step that knows of it.
func (s *Story) marks() (out []mark) {
	wide := chartWidth / float64(max(1, len(s.Steps)))
	for _, c := range s.Compactions {
		i := slices.IndexFunc(s.Steps, func(x Step) bool { return x.At >= c.At })
		if i < 0 {
			i = len(s.Steps)
		}
		out = append(out, mark{X: max(1, float64(i)*wide-wide*0.07), Label: fmt.Sprintf("compaction at record %d", c.At)})
	}
	return out
}

// budgetLine is the path of the budget over the steps.
func (s *Story) budgetLine() (d string) {
	wide := chartWidth / float64(max(1, len(s.Steps)))
	for i := range s.Steps {
		y := chartHeight - float64(s.Steps[i].Pack.Budget)/s.scale()*chartHeight
		op := "L"
		if i == 0 {
			op = "M"
		}
		d += fmt.Sprintf("%s%.1f %.1f L%.1f %.1f ", op, float64(i)*wide, y, float64(i+1)*wide, y)
	}
	return d
}

// toolLines are the areas of tool outputs: in the log, and in the window.
func (s *Story) toolLines() (areas [2]string) {
	most := max(1, s.last().ToolBytes)
	wide := chartWidth / float64(max(1, len(s.Steps)))
	for k := range areas {
		d := fmt.Sprintf("M0 %.1f ", toolsHeight)
		for i := range s.Steps {
			v := s.Steps[i].ToolBytes
			if k == 1 {
				v = s.Steps[i].ToolShown
			}
			y := toolsHeight - float64(v)/float64(most)*toolsHeight*0.95
			d += fmt.Sprintf("L%.1f %.1f L%.1f %.1f ", float64(i)*wide, y, float64(i+1)*wide, y)
		}
		areas[k] = d + fmt.Sprintf("L%.1f %.1f Z", float64(len(s.Steps))*wide, toolsHeight)
	}
	return areas
}

func inBytes(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

func when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}
