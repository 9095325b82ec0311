package pack

import "sort"

// linksTo gives the pairings whose result stands in record n.
func (w *Workset) linksTo(n int) []pairing {
	i := sort.Search(len(w.links), func(i int) bool { return int(w.links[i].result) >= n })
	j := i
	for j < len(w.links) && int(w.links[j].result) == n {
		j++
	}
	return w.links[i:j]
}

// linksFrom gives the pairings whose call stands in record n.
func (w *Workset) linksFrom(n int) []pairing {
	var out []pairing
	i := sort.Search(len(w.links), func(i int) bool { return int(w.links[i].result) >= n })
	for ; i < len(w.links) && int(w.links[i].result) <= n+nearLinks; i++ {
		if int(w.links[i].call) == n {
			out = append(out, w.links[i])
		}
	}
	for _, i := range w.far[uint32(n)] {
		out = append(out, w.links[i])
	}
	return out
}

// partners lists the records that hold the other halves of n's tool calls and results.
func (w *Workset) partners(n int) []int {
	var out []int
	for _, p := range w.linksTo(n) {
		out = append(out, int(p.call))
	}
	for _, p := range w.linksFrom(n) {
		out = append(out, int(p.result))
	}
	return out
}

// set is a choice of records.
type set func(n int) bool

// split tells whether block k (from 1) of record n is half of a tool call whose other half is not wholly in the
// chosen records, so that it must stay out too. It holds for a call and for all of its results alike.
func (w *Workset) split(in set, n, k int) bool {
	for _, p := range w.linksTo(n) {
		if int(p.rblock) == k && (!in(int(p.call)) || w.answersSplit(in, int(p.call), int(p.cblock))) {
			return true
		}
	}
	return w.answersSplit(in, n, k)
}

func (w *Workset) answersSplit(in set, call, block int) bool {
	for _, p := range w.linksFrom(call) {
		if int(p.cblock) == block && !in(int(p.result)) {
			return true
		}
	}
	return false
}
