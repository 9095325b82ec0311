package recall

// Best gives the part of a text that matches the query best, by BM25 over the parts; of equals the first; -1 when none
// has a term of it.
func Best(query string, parts []string) int {
	s := newScanner()
	want := map[uint32]int{}
	for _, k := range s.scan(query) {
		if _, ok := want[k]; !ok {
			want[k] = len(want)
		}
	}
	counts, df := make([][]int, len(parts)), make([]int, len(want))
	for i, p := range parts {
		counts[i] = make([]int, len(want))
		for _, k := range s.scan(p) {
			if j, ok := want[k]; ok {
				if counts[i][j]++; counts[i][j] == 1 {
					df[j]++
				}
			}
		}
	}
	best, most := -1, 0.0
	for i := range parts {
		sum := 0.0
		for j, tf := range counts[i] {
			sum += bm25(idf(df[j], len(parts)), float64(tf), norm(1, 1))
		}
		if sum > most {
			best, most = i, sum
		}
	}
	return best
}
