package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// mostListed is how many names an error lists.
const mostListed = 10

// thereAre lists what is there in place of name, the nearest first; "" when nothing is.
func thereAre(name string, list []string) string {
	all := len(list)
	list = nearest(name, list)
	switch {
	case all == 0:
		return ""
	case all > mostListed:
		return fmt.Sprintf("of %d there are %s, ...", all, strings.Join(list[:mostListed], ", "))
	case all == 1:
		return "there is " + list[0]
	}
	return "there are " + strings.Join(list, ", ")
}

// nearest returns the list sorted by how near each is to name: by the changes that make one of the other, where a part of it, or an
// agent's session of that name, counts as one change. Those as near as each other keep their order.
func nearest(name string, list []string) []string {
	far := map[string]int{}
	for _, s := range list {
		far[s] = distance(name, s)
		if _, session, ok := strings.Cut(s, "/"); ok {
			far[s] = min(far[s], 1+distance(name, session))
		}
		if strings.Contains(s, name) || strings.Contains(name, s) {
			far[s] = min(far[s], 1)
		}
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(far[a], far[b]) })
	return list
}

// distance is the number of bytes to insert, remove or replace to make b of a (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
