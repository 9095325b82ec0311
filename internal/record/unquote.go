package record

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// text gives the text of a valid JSON string.
func text(raw []byte) string {
	s := unquoted(raw)
	if len(s) == 0 || &s[0] == &raw[1] {
		return string(s)
	}
	return unsafe.String(&s[0], len(s)) // made by unquoted, and nobody writes to it again
}

// unquoted gives the text of a valid JSON string: a view of it where it holds nothing to decode. What is no UTF-8, and
// half a surrogate pair, becomes U+FFFD, as encoding/json has it.
func unquoted(raw []byte) []byte {
	s := raw[1 : len(raw)-1]
	if !utf8.Valid(s) {
		s = repaired(s)
	}
	slash := bytes.IndexByte(s, '\\')
	if slash < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for slash >= 0 {
		var n int
		out = append(out, s[:slash]...)
		out, n = unescape(out, s[slash:])
		s = s[slash+n:]
		slash = bytes.IndexByte(s, '\\')
	}
	return append(out, s...)
}

// repaired replaces each byte that is not part of valid UTF-8.
func repaired(s []byte) []byte {
	out := make([]byte, 0, len(s)+len(s)/2)
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		out = utf8.AppendRune(out, r)
		s = s[n:]
	}
	return out
}

// unescape decodes the escape that s starts with, and gives its length.
func unescape(out, s []byte) ([]byte, int) {
	switch c := s[1]; c {
	case 'b':
		return append(out, '\b'), 2
	case 'f':
		return append(out, '\f'), 2
	case 'n':
		return append(out, '\n'), 2
	case 'r':
		return append(out, '\r'), 2
	case 't':
		return append(out, '\t'), 2
	case 'u':
	default:
		return append(out, c), 2
	}
	r := hex4(s[2:])
	if utf16.IsSurrogate(r) {
		if len(s) > 7 && s[6] == '\\' && s[7] == 'u' {
			if both := utf16.DecodeRune(r, hex4(s[8:])); both != utf8.RuneError {
				return utf8.AppendRune(out, both), 12
			}
		}
		r = utf8.RuneError
	}
	return utf8.AppendRune(out, r), 6
}

// hex4 reads four hexadecimal digits; -1 when they are not there.
func hex4(s []byte) rune {
	if len(s) < 4 {
		return -1
	}
	r := rune(0)
	for _, c := range s[:4] {
		switch {
		case c-'0' < 10:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
