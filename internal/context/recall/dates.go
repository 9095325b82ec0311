package recall

import (
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Dates are terms of their own: the first record of an episode has those of its day, whatever its words are.
func dateTerms(t time.Time) []string {
	return []string{"@y" + strconv.Itoa(t.Year()), monthTerm(t.Month()), dayTerm(t.Day())}
}

func monthTerm(m time.Month) string { return "@m" + strconv.Itoa(int(m)) }
func dayTerm(d int) string          { return "@d" + strconv.Itoa(d) }

// queryDates finds a year, a month and, beside a month, a day in a query: "in May 2023", "8 May", "2023-05-08".
func queryDates(text string) []Term {
	var terms []string
	var days []string
	months := 0
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' }) {
		if t, err := time.Parse(time.DateOnly, w); err == nil {
			terms = append(terms, dateTerms(t)...)
			continue
		}
		n, err := strconv.Atoi(strings.TrimRight(w, "dhnrst"))
		switch m := month(w); {
		case m > 0:
			months++
			terms = append(terms, monthTerm(m))
		case err == nil && n >= 1900 && n < 2100:
			terms = append(terms, "@y"+strconv.Itoa(n))
		case err == nil && n >= 1 && n <= 31:
			days = append(days, dayTerm(n))
		}
	}
	if months > 0 {
		terms = append(terms, days...)
	}
	var out []Term
	for _, t := range terms {
		out = append(out, Term{key(hash(t, 0, len(t))), 1})
	}
	return out
}

// month reads an English month's name, whole or as three letters. It has its capital: "may" is something else.
func month(w string) time.Month {
	for m := time.January; m <= time.December; m++ {
		if w == m.String() || w == m.String()[:3] {
			return m
		}
	}
	return 0
}
