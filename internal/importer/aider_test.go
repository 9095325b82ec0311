package importer

import "testing"

// TestAider tells who says what in a chat's history.
func TestAider(t *testing.T) {
	const start = "# aider chat started at 2026-01-01 10:00:00\n\n"
	for _, c := range []struct {
		name, log, want string
		skipped, events int
	}{
		{"nothing", start, "", 0, 1},
		{"words and an answer", start + "#### hi  \n\nho\n\n", "user hi; assistant ho", 0, 1},
		{"lines", start + "#### a  \n####   \n#### b  \n\n\nc\n\nd\n", "user a\n\nb; assistant c\n\nd", 0, 1},
		{"notices", start + "> Aider v1  \n> Model: m with diff  \n\n#### hi  \n> Tokens: 1k  \n\nho\n> Applied  \n", "user hi; assistant ho", 0, 4},
		{"headings and quotes of the model", start + "#### hi  \n\n#### Plan\n\n> quoted\n", "user hi; assistant #### Plan\n\n> quoted", 0, 1},
		{"a reply to the model", start + "x\n\n> # 2 SEARCH/REPLACE blocks failed to match!\n\n#### y  \nz\n", "assistant x; user/reflection # 2 SEARCH/REPLACE blocks failed to match!\n\n#### y; assistant z", 0, 1},
		{"thoughts", start + "--------------\n► **THINKING**\n\nhm\n\n------------\n► **ANSWER**\n\nho\n", "assistant hm ho", 0, 1},
		{"thoughts without an end", start + "<thinking-content-1>\nhm\n", "assistant <thinking-content-1>\nhm", 0, 1},
		{"an empty prompt", start + "####   \n", "", 1, 1},
		{"CRLF", "# aider chat started at 2026-01-01 10:00:00\r\n\r\n#### hi  \r\nho\r\n", "user hi; assistant ho", 0, 1},
		{"no UTF-8", start + "h\xffo\n", "assistant h\uFFFDo", 0, 2},
	} {
		sink, rep := importText(t, Aider, c.log)
		if got := shape(t, sink); got != c.want || sum(rep.Skipped) != c.skipped || rep.Events != c.events {
			t.Errorf("%s: %q, %s\nwant %q", c.name, got, rep, c.want)
		}
	}
	for words, want := range map[string]bool{"/add a.py": false, "/ask why?": true, "/ask": false, "/undo": false, "why?": true,
		"Add it? (Y)es/(N)o [Yes]: y": false, "say (Y)es/(N)o": true} {
		sink, _ := importText(t, Aider, start+"#### "+words+"  \n")
		if r := parsed(t, sink)[0]; r.IsUser() != want || r.Words() != words {
			t.Errorf("%q: user %v, want %v", words, r.IsUser(), want)
		}
	}
}
