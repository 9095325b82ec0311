package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"ctxfs/internal/appendlog"
	"ctxfs/internal/context/pack"
	"ctxfs/internal/record"
)

// fold is what a session's history was folded into, up to a record: the workset, and where each record stands.
type fold struct {
	log      *appendlog.Log
	work     *pack.Workset
	ends     []int64 // byte offset of the end of each record
	lastWord int     // the newest record with an assistant's words; 0: none
	own      string  // the session's own rules for secrets
	mask     pack.MaskFunc
	count    func(text string) int // tokens
	newest   time.Time             // the latest time that a record gives
	tokens   string                // name of the tokenizer that counted
	limit    int                   // fold no more records than this; 0: all
}

// newFold begins a fold of a log, as of its first limit records; 0: all.
func (x *Session) newFold(log *appendlog.Log, tokenizer, own string, limit int) (*fold, error) {
	enc, err := x.store.encoder(tokenizer)
	if err != nil {
		return nil, err
	}
	rules, err := x.store.rules([]byte(own))
	if err != nil {
		return nil, err
	}
	mask, masks := masker(rules)
	f := &fold{log: log, work: pack.NewWorkset(enc), tokens: enc.Name(), own: own, mask: mask, count: enc.Count, limit: limit}
	f.work.SetMask(mask, masks)
	return f, nil
}

// masked returns a text without its secrets.
func (f *fold) masked(text string) string {
	text, _ = f.mask(text)
	return text
}

// catchUp folds what was appended since the last time.
func (f *fold) catchUp() error {
	size := f.log.Size()
	for at := f.size(); at < size && !f.full(); {
		n, err := f.chunk(at, size)
		if err != nil {
			return err
		}
		at += n
	}
	return nil
}

func (f *fold) full() bool { return f.limit > 0 && len(f.ends) >= f.limit }

func (f *fold) size() int64 {
	if len(f.ends) == 0 {
		return 0
	}
	return f.ends[len(f.ends)-1]
}

// chunk folds the next few megabytes of whole lines from byte at on, and gives their length.
func (f *fold) chunk(at, size int64) (int64, error) {
	buf, err := wholeLines(f.log, at, size)
	if err != nil {
		return 0, err
	}
	f.lines(buf, at)
	return int64(len(buf)), nil
}

// wholeLines reads whole lines of the first size bytes of a log, from byte at on: a few megabytes, or one longer line.
func wholeLines(log io.ReaderAt, at, size int64) ([]byte, error) {
	const step = 4 << 20
	for want := min(size-at, step); ; want = min(size-at, want*2) {
		buf := make([]byte, want)
		if _, err := log.ReadAt(buf, at); err != nil && err != io.EOF {
			return nil, fmt.Errorf("read history: %w", err)
		}
		if last := bytes.LastIndexByte(buf, '\n'); last >= 0 {
			return buf[:last+1], nil
		}
		if want == size-at {
			return nil, errors.New("read history: the log does not end in a whole line")
		}
		if want > appendlog.MaxLine {
			return nil, fmt.Errorf("read history: %w", appendlog.ErrTooLong) // written past ctxfs
		}
	}
}

func (f *fold) lines(buf []byte, at int64) {
	for len(buf) > 0 && !f.full() {
		n := bytes.IndexByte(buf, '\n') + 1
		f.line(buf[:n], at)
		buf, at = buf[n:], at+int64(n)
	}
}

// line folds one line. One that is not a record (the file was changed while nothing was mounted) is accounted for
// and hides nothing else.
func (f *fold) line(raw []byte, at int64) {
	f.ends = append(f.ends, at+int64(len(raw)))
	n := len(f.ends)
	r, err := record.Parse(raw, n, at)
	if err != nil {
		f.work.AddBad(n, raw, err.Error())
		return
	}
	f.newest = later(f.newest, r.Time)
	f.work.Add(r, raw)
	if r.Role == "assistant" && !r.Sidechain && r.Words() != "" {
		f.lastWord = n
	}
}

// Len is the number of records; f is a record.History.
func (f *fold) Len() int { return len(f.ends) }

func (f *fold) start(n int) int64 {
	if n == 1 {
		return 0
	}
	return f.ends[n-2]
}

// Raw reads the line of record n.
func (f *fold) Raw(n int) ([]byte, error) {
	if n < 1 || n > len(f.ends) {
		return nil, refuse(NotFound, "messages:%d: no such record, the log has %d", n, len(f.ends))
	}
	buf := make([]byte, f.ends[n-1]-f.start(n))
	if _, err := f.log.ReadAt(buf, f.start(n)); err != nil {
		return nil, fmt.Errorf("messages:%d: %w", n, err)
	}
	return buf, nil
}

// Record reads and parses record n.
func (f *fold) Record(n int) (record.Record, error) {
	raw, err := f.Raw(n)
	if err != nil {
		return record.Record{N: n}, err
	}
	return record.Parse(raw, n, f.start(n))
}

// latest returns the newest words of the assistant, without secrets.
func (f *fold) latest() ([]byte, error) {
	if f.lastWord == 0 {
		return nil, nil
	}
	r, err := f.work.Masked(f).Record(f.lastWord)
	if err != nil {
		return nil, err
	}
	text := []byte(r.Words())
	if !bytes.HasSuffix(text, []byte{'\n'}) {
		text = append(text, '\n')
	}
	return text, nil
}
