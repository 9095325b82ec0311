package recall

// open is the index of the newest records, as they come: for each record its terms in order of appearance. When it is
// full it is packed into a part.
type open struct {
	slots []uint32 // open addressing: 1 + number of a term, 0 empty
	terms []openTerm
	posts []openPost
	ends  []uint32 // of each record, in posts
}

// openTerm is a term by its key, and its newest entry in posts.
type openTerm struct{ key, post uint32 }

type openPost struct{ term, tf uint32 }

// maxPosts is how many postings are packed at a time: 32,000 are some 300 records of 1 KB.
const maxPosts = 32_000

// begin tells where in posts the next record starts.
func (o *open) begin() uint32 { return uint32(len(o.posts)) }

// count notes a term of the record that starts at begin in posts.
func (o *open) count(key, begin uint32) {
	if 2*len(o.terms) >= len(o.slots) {
		o.grow()
	}
	i := o.find(key)
	n := o.slots[i]
	if n == 0 {
		o.terms = append(o.terms, openTerm{key: key, post: uint32(len(o.posts))})
		n = uint32(len(o.terms))
		o.slots[i] = n
	} else if t := &o.terms[n-1]; t.post >= begin {
		o.posts[t.post].tf++
		return
	} else {
		t.post = uint32(len(o.posts))
	}
	o.posts = append(o.posts, openPost{n - 1, 1})
}

// end ends a record.
func (o *open) end() { o.ends = append(o.ends, uint32(len(o.posts))) }

// find gives the slot of a key: of its term, or the empty one where it belongs.
func (o *open) find(key uint32) uint32 {
	mask := uint32(len(o.slots) - 1)
	i := key & mask
	for o.slots[i] != 0 && o.terms[o.slots[i]-1].key != key {
		i = (i + 1) & mask
	}
	return i
}

func (o *open) grow() {
	o.slots = make([]uint32, max(64, 2*len(o.slots)))
	for i := range o.terms {
		o.slots[o.find(o.terms[i].key)] = uint32(i + 1)
	}
}

// pack makes a part of all records, and starts anew.
func (o *open) pack(first uint32) *part {
	order := o.order()
	rank := make([]uint32, len(o.terms))
	for r, n := range order {
		rank[n] = uint32(r)
	}
	at := make([]uint32, len(o.terms)+1)
	for _, p := range o.posts {
		at[rank[p.term]+1]++
	}
	for i := range o.terms {
		at[i+1] += at[i]
	}
	lists := make([]posting, len(o.posts))
	doc := uint32(0)
	for i, p := range o.posts {
		for uint32(i) >= o.ends[doc] {
			doc++
		}
		r := rank[p.term]
		lists[at[r]] = posting{doc, p.tf}
		at[r]++
	}
	w := newPartWriter(first, uint32(len(o.ends)), uint32(len(o.terms)), 0)
	from := uint32(0)
	for r, n := range order {
		w.term(o.terms[n].key, lists[from:at[r]])
		from = at[r]
	}
	clear(o.slots)
	o.terms, o.posts, o.ends = o.terms[:0], o.posts[:0], o.ends[:0]
	return w.close()
}

// order gives the numbers of the terms in order of their keys, by three rounds of counting.
func (o *open) order() []uint32 {
	const digit = 11
	in, out := make([]uint32, len(o.terms)), make([]uint32, len(o.terms))
	for i := range in {
		in[i] = uint32(i)
	}
	for shift := uint(0); shift < 32; shift += digit {
		var at [1<<digit + 1]uint32
		for _, t := range o.terms {
			at[t.key>>shift&(1<<digit-1)+1]++
		}
		for i := range at[1:] {
			at[i+1] += at[i]
		}
		for _, n := range in {
			d := o.terms[n].key >> shift & (1<<digit - 1)
			out[at[d]] = n
			at[d]++
		}
		in, out = out, in
	}
	return in
}
