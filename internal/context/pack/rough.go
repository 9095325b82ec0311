package pack

// guess tells about how many tokens a text has, fifty times as fast as counting them. What a pack shows is counted
// exactly; what is only accounted for, far back in a long log, is guessed, so that indexing a log costs little.
type guess struct {
	kinds   [256]uint8
	weights [64]uint32 // of a byte after another, by their kinds, in 1/1024 tokens
}

// newGuess has weights fitted by least squares on 11,500 blocks of agents' sessions and conversations, against
// o200k_base: of two thirds of the sessions they tell the other third's tokens to 0.3 % in sum, half of the blocks to
// 3 % and nine of ten to 9 %.
func newGuess() *guess {
	g := &guess{weights: [64]uint32{
		51, 607, 1329, 848, 1139, 1094, 580, 0, // after a lower-case letter
		104, 208, 1364, 540, 1925, 508, 386, 0, // an upper-case one
		1057, 1694, 198, 752, 640, 1167, 773, 0, // a digit
		14, 304, 1644, 52, 1706, 847, 0, 0, // a space
		678, 899, 770, 877, 206, 1393, 1145, 0, // a line end or tab
		412, 957, 666, 292, 26, 160, 262, 0, // another ASCII character
		0, 0, 0, 0, 0, 0, 0, 847, // the first byte of a longer character
		272, 377, 330, 983, 239, 672, 0, 0, // its other bytes
	}}
	for c := range g.kinds {
		g.kinds[c] = guessKind(byte(c))
	}
	return g
}

func guessKind(c byte) uint8 {
	switch {
	case c >= 'a' && c <= 'z':
		return 0
	case c >= 'A' && c <= 'Z':
		return 1
	case c >= '0' && c <= '9':
		return 2
	case c == ' ':
		return 3
	case c == '\n', c == '\r', c == '\t':
		return 4
	case c >= 0xC0:
		return 6
	case c >= 0x80:
		return 7
	}
	return 5
}

func (g *guess) tokens(text string) int {
	var sum uint64
	last := uint(0)
	for i := 0; i < len(text); i++ {
		last = (last<<3 | uint(g.kinds[text[i]])) & 63
		sum += uint64(g.weights[last])
	}
	return int((sum + 1023) / 1024)
}
