package redact

import (
	"encoding/json"
	"strings"
)

// fit cuts findings so that JSON stays JSON when they are masked: in a text that is JSON, or in a line that is.
func fit(text string, list []Finding) []Finding {
	if len(list) == 0 {
		return nil
	}
	if isJSON(text) {
		return fitJSON(text, 0, list)
	}
	var out []Finding
	for i := 0; i < len(list); {
		start, end := line(text, list[i].Start)
		var here []Finding
		for i < len(list) && list[i].Start < end {
			f := list[i]
			f.End = min(f.End, end)
			here = append(here, f)
			if list[i].End > end {
				list[i].Start = end
				break
			}
			i++
		}
		if isJSON(text[start:end]) {
			here = fitJSON(text[start:end], start, here)
		}
		out = rejoin(out, here, start)
	}
	return out
}

// rejoin appends what was found in the line that begins at start, to what goes on from the line before.
func rejoin(out, here []Finding, start int) []Finding {
	if n := len(out); n > 0 && len(here) > 0 && here[0].Start == start && out[n-1].End == start && out[n-1].Rule == here[0].Rule {
		out[n-1].End = here[0].End
		here = here[1:]
	}
	return append(out, here...)
}

// line is where the line with the byte at begins and ends, its newline included.
func line(text string, at int) (int, int) {
	start := strings.LastIndexByte(text[:at], '\n') + 1
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return start, at + i + 1
	}
	return start, len(text)
}

// isJSON tells whether a text is an object, an array or a string of JSON.
func isJSON(text string) bool {
	trimmed := strings.TrimLeft(text, " \t\r\n")
	return trimmed != "" && strings.IndexByte(`{["`, trimmed[0]) >= 0 && json.Valid([]byte(text))
}

// unescape overwrites the escapes in what begins like JSON with what they mean, or with spaces, so that quotes and line
// ends stand around a secret as they do in the text that the JSON holds, and all stays in its place.
func unescape(text string) (string, bool) {
	trimmed := strings.TrimLeft(text, " \t\r\n")
	if trimmed == "" || strings.IndexByte(`{["`, trimmed[0]) < 0 || strings.IndexByte(text, '\\') < 0 {
		return "", false
	}
	out := []byte(text)
	for i := 0; i+1 < len(out); i++ {
		if out[i] != '\\' {
			continue
		}
		out[i] = ' '
		i++
		switch out[i] {
		case 'n', 'r':
			out[i] = '\n'
		case 't', 'b', 'f', '\\':
			out[i] = ' '
		}
	}
	return string(out), true
}

// fitter walks over JSON and findings together.
type fitter struct {
	list []Finding // those that end after the place where it is
	base int
	out  []Finding
}

// fitJSON gives the parts of findings that stand in strings, and the numbers that they touch. The text begins at base.
func fitJSON(text string, base int, list []Finding) []Finding {
	f := &fitter{list: list, base: base}
	for i := 0; i < len(text) && len(f.list) > 0; {
		switch c := text[i]; {
		case c == '"':
			i = f.str(text, i+1)
		case c == '-' || c >= '0' && c <= '9':
			end := i + 1
			for end < len(text) && strings.IndexByte("0123456789+-.eE", text[end]) >= 0 {
				end++
			}
			if rule, ok := f.over(i, end); ok {
				f.out = append(f.out, Finding{Rule: rule, Start: base + i, End: base + end, quote: true})
			}
			i = end
		default:
			i++
		}
	}
	return f.out
}

// str walks over the string whose content begins at i, an escape at a time; it gives what follows the closing quote.
func (f *fitter) str(text string, i int) int {
	open := false // the last of out reaches to i
	for i < len(text) && text[i] != '"' {
		end := i + 1
		if text[i] == '\\' {
			end = i + 2
			if i+1 < len(text) && text[i+1] == 'u' {
				end = i + 6
			}
		}
		end = min(end, len(text))
		rule, ok := f.over(i, end)
		switch n := len(f.out); {
		case ok && open && f.out[n-1].Rule == rule:
			f.out[n-1].End = f.base + end
		case ok:
			f.out = append(f.out, Finding{Rule: rule, Start: f.base + i, End: f.base + end})
		}
		open = ok
		i = end
	}
	return i + 1
}

// over tells which finding has one of the bytes from start to end; calls come in order.
func (f *fitter) over(start, end int) (string, bool) {
	for len(f.list) > 0 && f.list[0].End <= f.base+start {
		f.list = f.list[1:]
	}
	if len(f.list) > 0 && f.list[0].Start < f.base+end {
		return f.list[0].Rule, true
	}
	return "", false
}
