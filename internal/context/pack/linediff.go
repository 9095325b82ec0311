package pack

import (
	"fmt"
	"strings"
)

// hunk replaces lines a to a+removed-1 (from 0) of an older text by lines b to b+added-1 of a newer one.
type hunk struct{ a, removed, b, added int }

// maxEdits bounds the work of a diff: texts that differ in more lines are not shown by their difference.
const maxEdits = 200

// diffLines gives the least difference of two texts as hunks (Myers, "An O(ND) Difference Algorithm"); ok is false
// when it has more than maxEdits lines.
func diffLines(old, now []string) (hunks []hunk, ok bool) {
	head := 0
	for head < len(old) && head < len(now) && old[head] == now[head] {
		head++
	}
	tail := 0
	for tail < len(old)-head && tail < len(now)-head && old[len(old)-1-tail] == now[len(now)-1-tail] {
		tail++
	}
	hunks, ok = myers(old[head:len(old)-tail], now[head:len(now)-tail])
	for i := range hunks {
		hunks[i].a += head
		hunks[i].b += head
	}
	return hunks, ok
}

// myers finds the shortest way from old to now, and keeps for each number of edits how far each diagonal came.
func myers(old, now []string) ([]hunk, bool) {
	const mid = maxEdits + 1
	var reach [2*mid + 1]int
	var came [][]int // came[d]: reach of the diagonals -d to d after d edits
	for d := 0; d <= maxEdits; d++ {
		for k := -d; k <= d; k += 2 {
			x := 0
			if d > 0 {
				if x = reach[mid+k-1] + 1; k == -d || k != d && reach[mid+k-1] < reach[mid+k+1] {
					x = reach[mid+k+1]
				}
			}
			for x < len(old) && x-k < len(now) && old[x] == now[x-k] {
				x++
			}
			reach[mid+k] = x
			if x >= len(old) && x-k >= len(now) {
				return walkBack(came, len(old), len(now)), true
			}
		}
		came = append(came, append([]int(nil), reach[mid-d:mid+d+1]...))
	}
	return nil, false
}

// walkBack turns what each diagonal reached into hunks, from the ends of both texts to their starts.
func walkBack(came [][]int, x, y int) []hunk {
	var back []hunk
	for d := len(came); d > 0; d-- {
		at := func(k int) int { return came[d-1][k+d-1] }
		k := x - y
		h := hunk{}
		if k == -d || k != d && at(k-1) < at(k+1) {
			x = at(k + 1)
			h = hunk{a: x, b: x - k - 1, added: 1}
		} else {
			x = at(k - 1)
			h = hunk{a: x, b: x - k + 1, removed: 1}
		}
		y = h.b
		back = append(back, h)
	}
	return joined(back)
}

// joined turns hunks of one line each, last first, into whole ones in order.
func joined(back []hunk) []hunk {
	var out []hunk
	for i := len(back) - 1; i >= 0; i-- {
		h := back[i]
		if n := len(out) - 1; n >= 0 && out[n].a+out[n].removed == h.a && out[n].b+out[n].added == h.b {
			out[n].removed += h.removed
			out[n].added += h.added
			continue
		}
		out = append(out, h)
	}
	return out
}

// maxRemoved is how many removed lines of a hunk are written; the older text stands in the pack, so its line numbers do.
const maxRemoved = 6

// writeHunks writes a difference in the form of diff -U0: the lines' numbers in both texts (from 1), the old lines with
// '-' and the new ones with '+'.
func writeHunks(out *strings.Builder, hunks []hunk, old, now []string) {
	for _, h := range hunks {
		fmt.Fprintf(out, "@@ -%d,%d +%d,%d @@\n", h.a+1, h.removed, h.b+1, h.added)
		for i := range h.removed {
			if h.removed > maxRemoved && i > 0 && i < h.removed-1 {
				if i == 1 {
					fmt.Fprintf(out, "-... %d lines ...\n", h.removed-2)
				}
				continue
			}
			out.WriteString("-" + old[h.a+i] + "\n")
		}
		for _, l := range now[h.b : h.b+h.added] {
			out.WriteString("+" + l + "\n")
		}
	}
}
