package importer

// The functions here find where JSON values end, without decoding them: logs hold values of megabytes.

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipValue gives the index behind the JSON value that starts at i, or -1 when b ends inside it. It does not check
// the value: json.Valid did, or the caller can do with less.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	for j := i; j < len(b); j++ {
		switch b[j] {
		case ',', '}', ']', ' ', '\t', '\n', '\r', ':':
			return j
		}
	}
	return -1
}

func skipString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

func skipNested(b []byte, i int) int {
	for open := 0; i < len(b); {
		switch b[i] {
		case '"':
			if i = skipString(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			open++
		case '}', ']':
			if open--; open == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// depth gives how deep the value at the start of raw nests. raw must be valid JSON.
func depth(raw []byte) int {
	most, open := 0, 0
	for i := 0; i < len(raw); {
		switch raw[i] {
		case '"':
			if i = skipString(raw, i); i < 0 {
				return most
			}
			continue
		case '{', '[':
			open++
			most = max(most, open)
		case '}', ']':
			open--
		}
		i++
	}
	return most
}
