package pack

import (
	"strconv"
	"strings"
)

// minBase64 is how much base64 in one place counts as data that no model can read, in bytes.
const minBase64 = 512

// minLine is the shortest line of wrapped base64: PEM has 64 characters, MIME 76.
const minLine = 60

// scrub replaces long base64 by its size: unbroken runs, and runs that are wrapped into lines of one length, also when
// the line ends are escaped as in JSON. It looks at every minBase64-th byte only, and around it when that could be
// base64, so that ordinary text costs next to nothing.
func scrub(s string) string {
	var out strings.Builder
	done := 0
	for i := minBase64 - 1; i < len(s); {
		a, b := i, i
		for a > done && wrapped(s[a-1]) {
			a--
		}
		for b < len(s) && wrapped(s[b]) {
			b++
		}
		if b-a >= minBase64 && i < b {
			out.WriteString(s[done:a])
			scrubRun(&out, s[a:b])
			done = b
		}
		i = b + minBase64
	}
	if done == 0 {
		return s
	}
	return out.String() + s[done:]
}

// scrubRun writes s, which is all lines of base64 characters, without those lines that are data.
func scrubRun(out *strings.Builder, s string) {
	for s != "" {
		size := lineLen(s)
		n := size
		if size >= minLine {
			n = sameLines(s, size)
		}
		if n >= minBase64 && mixed(s[:n]) {
			out.WriteString("[base64, " + strconv.Itoa(n) + " bytes]")
		} else {
			out.WriteString(s[:n])
		}
		s = s[n:]
		sep := separator(s)
		out.WriteString(s[:sep])
		s = s[sep:]
	}
}

// sameLines is the length of the lines of that size that s starts with, and of a shorter one that ends them.
func sameLines(s string, size int) int {
	n := size
	for {
		at := n + separator(s[n:])
		switch l := lineLen(s[at:]); {
		case l == size:
			n = at + l
			continue
		case l > 0 && l < size && s[at] != '-': // not the line that ends a PEM block
			n = at + l
		}
		return n
	}
}

// lineLen is the length of the base64 that s starts with.
func lineLen(s string) int {
	n := 0
	for n < len(s) && base64Byte(s[n]) {
		n++
	}
	return n
}

// separator is the length of what s starts with and no base64 holds: a line's end, as it is or escaped.
func separator(s string) int {
	n := 0
	for n < len(s) && !base64Byte(s[n]) {
		if s[n] == '\\' && n+1 < len(s) && (s[n+1] == 'n' || s[n+1] == 'r') {
			n++
		}
		n++
	}
	return n
}

func wrapped(c byte) bool { return base64Byte(c) || c == '\n' || c == '\r' || c == '\\' }

func base64Byte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '=' || c == '-' || c == '_'
}

// mixed tells data from a ruler, a padding or a very long word: it has letters of both cases and digits.
func mixed(s string) bool {
	return strings.ContainsAny(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") && strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyz") && strings.ContainsAny(s, "0123456789")
}
