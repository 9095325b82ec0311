package derive

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Said is a message that the summary quotes.
type Said struct {
	N    int
	Time time.Time // zero: unknown
	Text string
}

// Digest is what a summary is written from.
type Digest struct {
	Records     int  // the summary covers records 1 to Records
	Users       int  // messages of the user among them
	First, Last Said // the first and last records with a time; only N and Time are used
	Requests    []Said
	Compactions []Said
}

// Excerpts are cut to these sizes, in bytes.
const (
	excerptFirst = 1200
	excerptLater = 400
	excerptMerge = 3000
)

// Markdown writes summary.md: what was asked first and last, and what runtimes left as summaries; extracts only.
func (d Digest) Markdown() []byte {
	if d.Records == 0 {
		return nil
	}
	var out strings.Builder
	out.WriteString("# Summary of messages:1-" + itoa(d.Records) + "\n\n" + itoa(d.Records) + " records, " + itoa(d.Users) + " of them the user's")
	if !d.First.Time.IsZero() {
		out.WriteString("; from " + stamp(d.First.Time) + " to " + stamp(d.Last.Time))
	}
	out.WriteString(". Extracts, not a retelling.\n")
	for i, c := range d.Compactions {
		if i == len(d.Compactions)-1 {
			section(&out, "Summary left by a compaction", c, excerptMerge)
		}
	}
	for i, r := range d.Requests {
		if i == 0 {
			section(&out, "First request", r, excerptFirst)
			continue
		}
		if i == 1 {
			out.WriteString("\n## Later requests\n\n")
		}
		out.WriteString("- " + where(r) + ": " + oneLine(Excerpt(r.Text, excerptLater)) + "\n")
	}
	return []byte(out.String())
}

func section(out *strings.Builder, title string, s Said, size int) {
	out.WriteString("\n## " + title + " (" + where(s) + ")\n\n" + Excerpt(s.Text, size) + "\n")
}

func where(s Said) string {
	if s.Time.IsZero() {
		return ref(s.N)
	}
	return ref(s.N) + ", " + stamp(s.Time)
}

func stamp(t time.Time) string { return t.Format("2006-01-02 15:04") }

func itoa(n int) string { return strings.TrimPrefix(ref(n), "messages:") }

// Excerpt gives the start of text, at most size bytes, cut between words and marked with "…" when it was cut.
func Excerpt(text string, size int) string {
	text = strings.TrimSpace(text)
	if len(text) <= size {
		return text
	}
	cut := text[:size]
	for !utf8.ValidString(cut) {
		cut = cut[:len(cut)-1]
	}
	if i := strings.LastIndexAny(cut, " \n"); i > size/2 {
		cut = cut[:i]
	}
	return strings.TrimSpace(cut) + " …"
}
