package record

import (
	"encoding/binary"
	"math/bits"
)

// maxDepth is how deep a line may be nested: what encoding/json takes, so that jq and others can be relied on too.
const maxDepth = 10000

// space gives the place of the first byte from b[i] on that is no white space.
func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// valueEnd gives the end of the JSON value that starts at b[i], depth lists and objects deep; 0 when there is none.
func valueEnd(b []byte, i, depth int) int {
	if i >= len(b) {
		return 0
	}
	switch c := b[i]; {
	case c == '"':
		return stringEnd(b, i)
	case c == '{':
		return objectEnd(b, i, depth+1)
	case c == '[':
		return listEnd(b, i, depth+1)
	case c == 't':
		return wordEnd(b, i, "true")
	case c == 'f':
		return wordEnd(b, i, "false")
	case c == 'n':
		return wordEnd(b, i, "null")
	}
	return numberEnd(b, i)
}

func wordEnd(b []byte, i int, word string) int {
	if end := i + len(word); end <= len(b) && string(b[i:end]) == word {
		return end
	}
	return 0
}

func listEnd(b []byte, i, depth int) int {
	if depth > maxDepth {
		return 0
	}
	if i = space(b, i+1); i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		end := valueEnd(b, i, depth)
		if end == 0 {
			return 0
		}
		if i = space(b, end); i == len(b) || b[i] != ',' {
			return closed(b, i, ']')
		}
		i = space(b, i+1)
	}
}

func objectEnd(b []byte, i, depth int) int {
	if depth > maxDepth {
		return 0
	}
	if i = space(b, i+1); i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		end := 0
		if i < len(b) && b[i] == '"' {
			end = stringEnd(b, i)
		}
		if i = space(b, end); end == 0 || i == len(b) || b[i] != ':' {
			return 0
		}
		if end = valueEnd(b, space(b, i+1), depth); end == 0 {
			return 0
		}
		if i = space(b, end); i == len(b) || b[i] != ',' {
			return closed(b, i, '}')
		}
		i = space(b, i+1)
	}
}

// numberEnd ends -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func numberEnd(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	whole := digits(b, i)
	if whole == i || b[i] == '0' && whole > i+1 {
		return 0
	}
	if i = whole; i < len(b) && b[i] == '.' {
		end := digits(b, i+1)
		if end == i+1 {
			return 0
		}
		i = end
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		end := digits(b, i)
		if end == i {
			return 0
		}
		i = end
	}
	return i
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' < 10 {
		i++
	}
	return i
}

// stops marks, of the 8 bytes of x, those at which a string's plain run ends. Only the lowest mark is sure.
func stops(x uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	quote, slash := x^'"'*ones, x^'\\'*ones
	return ((quote-ones)&^quote | (slash-ones)&^slash | (x-' '*ones)&^x) & highs
}

// escapeLen is the length of the escape at b[i]; 0 when it is none.
func escapeLen(b []byte, i int) int {
	if i+1 >= len(b) {
		return 0
	}
	switch b[i+1] {
	case 'b', 'f', 'n', 'r', 't', '\\', '/', '"':
		return 2
	case 'u':
		if hex4(b[i+2:]) >= 0 {
			return 6
		}
	}
	return 0
}

// stringEnd gives the end of the string whose quote is b[i], 0 when it is not valid. It looks at 8 bytes at a time for
// a quote, a backslash or a control character.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); {
		if i+8 <= len(b) {
			x := binary.LittleEndian.Uint64(b[i:])
			stop := stops(x)
			if stop == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(stop) / 8
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			n := escapeLen(b, i)
			if n == 0 {
				return 0
			}
			i += n
		case c < ' ':
			return 0
		default:
			i++
		}
	}
	return 0
}
