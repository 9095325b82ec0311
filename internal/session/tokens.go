package session

import (
	"ctxfs/internal/appendlog"
	"ctxfs/internal/context/token"
)

// counter counts a log's tokens as it grows: each part once. The counts of whole lines add up, since a token that
// holds the end of one line never holds the start of the next object.
type counter struct {
	upTo   int64 // bytes counted
	tokens int
}

// LogTokens is the exact number of tokens of a log, by the store's tokenizer.
func (x *Session) LogTokens(name string) (int, error) {
	log, err := x.Log(name)
	if err != nil {
		return 0, err
	}
	defer x.Release()
	x.countMu.Lock()
	defer x.countMu.Unlock()
	c := x.counts[name]
	if c == nil {
		c = &counter{}
		if x.counts == nil {
			x.counts = map[string]*counter{}
		}
		x.counts[name] = c
	}
	enc, err := x.store.enc()
	if err == nil {
		err = c.extend(log, enc)
	}
	return c.tokens, err
}

// extend counts what was appended since the last time, a few megabytes of whole lines at a time.
func (c *counter) extend(log *appendlog.Log, enc *token.Encoding) error {
	size := log.Size()
	for c.upTo < size {
		lines, err := wholeLines(log, c.upTo, size)
		if err != nil {
			return err
		}
		c.tokens += enc.CountBytes(lines)
		c.upTo += int64(len(lines))
	}
	return nil
}
