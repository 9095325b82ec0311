package redact

import "slices"

// words finds all occurrences of many short ASCII words in one pass, whatever the case of ASCII letters: the automaton
// of Aho and Corasick (1975) as one table.
type words struct {
	class [256]uint8
	next  []uint32  // state and class to state; a state is the index of its row
	first uint32    // rows from here on end a word
	ends  [][]int32 // by state from first on: the words that end there
	size  []int     // of each word
	width uint32
}

// node is a state while the automaton is built.
type node struct {
	next []int32 // by class; -1: none
	fail int32
	ends []int32
}

// newWords builds the automaton of a list of words, in lower case, none empty.
func newWords(list []string) *words {
	w := &words{width: 1}
	for _, word := range list {
		w.size = append(w.size, len(word))
		for i := range len(word) {
			w.addClass(word[i])
		}
	}
	nodes := w.trie(list)
	order := w.link(nodes)
	w.number(nodes, order)
	return w
}

func (w *words) addClass(c byte) {
	if w.class[c] != 0 {
		return
	}
	w.class[c] = uint8(w.width)
	if c >= 'a' && c <= 'z' {
		w.class[c-'a'+'A'] = uint8(w.width)
	}
	w.width++
}

func (w *words) node() node {
	return node{next: slices.Repeat([]int32{-1}, int(w.width))}
}

func (w *words) trie(list []string) []node {
	nodes := []node{w.node()}
	for n, word := range list {
		at := int32(0)
		for i := range len(word) {
			c := w.class[word[i]]
			if nodes[at].next[c] < 0 {
				nodes[at].next[c] = int32(len(nodes))
				nodes = append(nodes, w.node())
			}
			at = nodes[at].next[c]
		}
		nodes[at].ends = append(nodes[at].ends, int32(n))
	}
	return nodes
}

// link fills in where a state goes on when its word ends, breadth first; it gives that order.
func (w *words) link(nodes []node) []int32 {
	order := []int32{0}
	for i := 0; i < len(order); i++ {
		at := order[i]
		for c, to := range nodes[at].next {
			back := int32(0)
			if at != 0 {
				back = nodes[nodes[at].fail].next[c]
			}
			if to < 0 {
				nodes[at].next[c] = max(back, 0)
				continue
			}
			nodes[to].fail = back
			nodes[to].ends = append(nodes[to].ends, nodes[back].ends...)
			order = append(order, to)
		}
	}
	return order
}

// number orders the states so that those that end words are the last, and writes the table.
func (w *words) number(nodes []node, order []int32) {
	slices.SortStableFunc(order, func(a, b int32) int { return min(len(nodes[a].ends), 1) - min(len(nodes[b].ends), 1) })
	row := make([]uint32, len(nodes))
	for i, n := range order {
		row[n] = uint32(i) * w.width
		if len(nodes[n].ends) > 0 {
			w.ends = append(w.ends, nodes[n].ends)
		}
	}
	w.first = uint32(len(nodes)-len(w.ends)) * w.width
	w.next = make([]uint32, 0, len(nodes)*int(w.width))
	for _, n := range order {
		for _, to := range nodes[n].next {
			w.next = append(w.next, row[to])
		}
	}
}

// each calls hit with each word and where it begins, in the order in which the words end, until hit gives false.
func (w *words) each(text string, hit func(word, start int) bool) {
	s := uint32(0)
	for i := range len(text) {
		s = w.next[s+uint32(w.class[text[i]])]
		if s < w.first {
			continue
		}
		for _, word := range w.ends[(s-w.first)/w.width] {
			if !hit(int(word), i+1-w.size[word]) {
				return
			}
		}
	}
}

// in tells whether the text has one of the words.
func (w *words) in(text string) bool {
	found := false
	w.each(text, func(int, int) bool {
		found = true
		return false
	})
	return found
}
