package importer

// mend closes a JSON document that is cut off, behind the last whole element of an outer list. It gives what stands
// before the cut, closed, and where in raw that ends: what follows is lost to the document. Without such an element
// there is nothing to mend, and it gives nil and 0. It does not check what stands before the cut.
func mend(raw []byte) (whole []byte, at int) {
	var open []byte // the brackets that close what is open
	var closers []byte
	for i := 0; i < len(raw); {
		switch c := raw[i]; c {
		case '"':
			if i = skipString(raw, i); i < 0 {
				return closed(raw, at, closers), at
			}
			continue
		case '{':
			open = append(open, '}')
		case '[':
			open = append(open, ']')
		case '}', ']':
			if len(open) == 0 || open[len(open)-1] != c {
				return closed(raw, at, closers), at
			}
			open = open[:len(open)-1]
			if n := len(open); n > 0 && n <= outerLists && open[n-1] == ']' {
				at, closers = i+1, append(closers[:0], open...)
			}
		}
		i++
	}
	return closed(raw, at, closers), at
}

// outerLists is how deep a list may stand whose elements count as whole parts of a document.
const outerLists = 2

func closed(raw []byte, at int, closers []byte) []byte {
	if at == 0 {
		return nil
	}
	whole := append([]byte(nil), raw[:at]...)
	for i := len(closers) - 1; i >= 0; i-- {
		whole = append(whole, closers[i])
	}
	return whole
}
