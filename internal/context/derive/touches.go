package derive

import (
	"slices"
	"sort"
)

// Touch is a tool call that named a file.
type Touch struct {
	N, Block int  // the call
	Edit     bool // it changed the file
}

// Recent gives the touches of the files named last in the first upTo records: one list for each of at most count
// files, the file touched last first; in each list the newest touch first, at most depth of them.
func (s *State) Recent(upTo, count, depth int) [][]Touch {
	var out [][]Touch
	for _, i := range s.recent(upTo, count, true) {
		var list []Touch
		t := s.files[i].touches
		for k := touchesUpTo(t, upTo) - 1; k >= 0 && len(list) < depth; k-- {
			list = append(list, Touch{int(t[k].n), int(t[k].block), t[k].edit})
		}
		out = append(out, list)
	}
	return out
}

func touchesUpTo(t []touch, upTo int) int {
	return sort.Search(len(t), func(k int) bool { return int(t[k].n) > upTo })
}

// maxLooks bounds how many touches are looked at to find the files touched last.
const maxLooks = 4096

// recent gives the files touched last, newest first, by their place in s.files; with shell, also those that only a
// command printed.
func (s *State) recent(upTo, count int, shell bool) []int {
	var pick []int
	last := sort.Search(len(s.order), func(k int) bool { return int(s.order[k].n) > upTo })
	for k := last - 1; k >= 0 && k >= last-maxLooks && len(pick) < count; k-- {
		if i := int(s.order[k].file); (shell || !s.order[k].shell) && !slices.Contains(pick, i) {
			pick = append(pick, i)
		}
	}
	return pick
}
