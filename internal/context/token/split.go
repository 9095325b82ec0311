package token

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// splitter gives the end of the match of an encoding's pattern at b[i], for i < len(b) and valid UTF-8. The
// patterns, from tiktoken_ext/openai_public.py, stand at each splitter; a match never depends on what is
// before i, and there is one at every i.
type splitter func(c *classes, b []byte, i int) int

func splitterOf(name string) splitter {
	switch name {
	case "o200k_base":
		return o200k
	case "cl100k_base":
		return cl100k
	}
	return p50k
}

// o200k matches
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
func o200k(c *classes, b []byte, i int) int {
	k, n := c.ascii[b[i]], 1
	if k == 0 {
		k, n = c.wide(b, i)
	}
	switch {
	case k&(letter|mark) != 0:
		return c.cased(b, i)
	case k == number:
		return c.digits(b, i+n)
	case k == newline:
		return c.blanks(b, i)
	}
	next, _ := c.at(b, i+n)
	switch {
	case next&(letter|mark) != 0:
		return c.cased(b, i+n)
	case k == other || b[i] == ' ' && next == other:
		return tail(b, c.run(b, i+n, symbol), '/')
	}
	return c.blanks(b, i)
}

// cased matches a word. This is the short way, for ASCII alone.
func (c *classes) cased(b []byte, i int) int {
	end := i
	for end < len(b) && c.ascii[b[end]] == upper {
		end++
	}
	end = lowers(b, end)
	if end < len(b) {
		if b[end] >= utf8.RuneSelf {
			end = c.casedWide(b, i)
		}
		if end < len(b) && b[end] == '\'' {
			end += contraction(b, end)
		}
	}
	return end
}

// lowers gives the end of the run of a to z that starts at b[i].
func lowers(b []byte, i int) int { return asciiRun(b, i, 0) }

// letters gives the end of the run of letters that starts at b[i].
func (c *classes) letters(b []byte, i int) int {
	i = asciiRun(b, i, 0x20)
	if i < len(b) && b[i] >= utf8.RuneSelf {
		return c.run(b, i, letter)
	}
	return i
}

// asciiRun gives the end of the run of bytes that starts at b[i] and is a to z with the bits of fold set. It looks
// at eight at once: the high bit of each is set where the byte is none of these. A carry only spoils bytes after
// such a one.
func asciiRun(b []byte, i int, fold byte) int {
	const each = 0x0101010101010101
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:]) | each*uint64(fold)
		from, after := x+each*(0x80-'a'), x+each*(0x7F-'z')
		if none := (x | ^from | after) & (each * 0x80); none != 0 {
			return i + bits.TrailingZeros64(none)/8
		}
	}
	for i < len(b) && 'a' <= b[i]|fold && b[i]|fold <= 'z' {
		i++
	}
	return i
}

// casedWide matches first what may be upper case, then what may be lower case. What has no case may be either,
// so where no lower case follows, the pattern steps back to the last such character; and where there is none, its
// second form takes the upper case alone. A mark at the start can be read as the optional character before the
// word or as its first one, with the same end.
func (c *classes) casedWide(b []byte, i int) int {
	last := -1 // the end of the last caseless character
	k, n := c.at(b, i)
	for k&(upper|caseless|mark) != 0 {
		i += n
		if k != upper {
			last = i
		}
		k, n = c.at(b, i)
	}
	switch {
	case k == lower:
		return c.run(b, i+n, lower|caseless|mark)
	case last >= 0:
		return last
	}
	return i
}

// digits ends \p{N}{1,3} after its first character.
func (c *classes) digits(b []byte, i int) int {
	for range 2 {
		k, n := c.at(b, i)
		if k != number {
			break
		}
		i += n
	}
	return i
}

// tail takes the line ends after a run of symbols, and the extra byte.
func tail(b []byte, i int, extra byte) int {
	for i < len(b) && (b[i] == '\r' || b[i] == '\n' || b[i] == extra) {
		i++
	}
	return i
}

// blanks matches \s*[\r\n]+|\s+(?!\S)|\s+: up to the last line end of the run, if any.
func (c *classes) blanks(b []byte, i int) int {
	end := c.run(b, i, blank)
	for j := end; j > i; j-- {
		if b[j-1] == '\n' || b[j-1] == '\r' {
			return j
		}
	}
	return c.trailing(b, i, end)
}

// trailing matches \s+(?!\S)|\s+ where the blanks end at end: the last one is left to what follows it.
func (c *classes) trailing(b []byte, i, end int) int {
	if end == len(b) {
		return end
	}
	last := end - 1
	for b[last]&0xC0 == 0x80 { // a blank can be three bytes long
		last--
	}
	if last == i {
		return end
	}
	return last
}

// contraction gives the length of (?i:'s|'t|'re|'ve|'m|'ll|'d) at b[i], or 0. U+017F, a long s, folds to s.
func contraction(b []byte, i int) int {
	if i+1 >= len(b) || b[i] != '\'' {
		return 0
	}
	first, second := b[i+1]|0x20, byte(0)
	if i+2 < len(b) {
		second = b[i+2]
	}
	switch {
	case first == 's' || first == 't' || first == 'm' || first == 'd':
		return 2
	case b[i+1] == 0xC5 && second == 0xBF:
		return 3
	case (first == 'r' || first == 'v') && second|0x20 == 'e', first == 'l' && second|0x20 == 'l':
		return 3
	}
	return 0
}
