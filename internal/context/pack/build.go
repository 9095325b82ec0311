package pack

import (
	"fmt"

	"ctxfs/internal/dedup"
	"ctxfs/internal/record"
)

// builder makes one pack for one budget. A new one is made for each try.
type builder struct {
	w         *Workset
	in        Input
	full      int // tokens that the pack may use
	lim       int // tokens that the plan may use
	limits    limits
	set       map[dedup.Place]int // limits of single blocks
	userLimit int
	settled   int // what is up to here is chosen anew only when the log has grown by a wide step
	steps     steps
	open      int  // tokens that the pack may use beside the files that do not depend on the log
	written   int  // tokens of the records that are written
	goal      int  // tokens for all up to settled
	whole     bool // nothing of the log is left out
	page      page
	items     []Item
	omitted   []Omitted
	forced    []rangeSet
	refs      int    // lines of NAME.ref files so far
	refBytes  int    // of what they name
	summed    []byte // what sumOf gave sum for
	sum       string
	flow      flow
	chosen    map[int]float64 // older records that are in, with their relevance
	working   map[int]float64 // those of them that hold the newest content of a file, with how lately it was touched
	parted    map[int]bool    // records behind start that are out, since the call that they answer is written without them
	work      []int           // the records of working, sorted
	missed    []missedHit     // older records that match, and do not fit
	start     int             // first record of the unbroken end
	task      int             // the latest message of the user up to settled, 0 when there is none
	user      int             // the latest user message, 0 when there is none
}

// tries is how often a plan is made smaller when the whole text counts more than its parts did.
const tries = 8

// Build makes the pack. It fails only when the history cannot be read.
func (w *Workset) Build(in Input) (*Pack, error) {
	w.exact.readFrom(in.History)
	p, err := w.fit(in, max(in.Budget-in.Reserve, 0))
	if err != nil {
		return nil, fmt.Errorf("pack of %s: %w", in.Session, err)
	}
	return p, p.encode(w, in)
}

// fit finds a plan whose text is within lim.
func (w *Workset) fit(in Input, lim int) (*Pack, error) {
	cache := make(map[int]*record.Record, len(w.loaded)+8)
	defer w.keepLoaded(cache)
	for i, plan := 0, lim-lim/100; i < tries && plan > 0; i++ {
		p, err := w.try(in, plan, cache)
		if err != nil {
			return nil, err
		}
		if over := p.used() - lim; over > 0 {
			plan -= over + 8<<i
			continue
		}
		if in.Query != "" {
			return w.widen(in, lim, plan, p, cache)
		}
		return p, nil
	}
	return w.least(in, lim), nil
}

// widen uses what a plan left over, since costs are bounds. Only for a question asked by hand: the plan of other packs
// must not follow the size of their text, or they would change with every append.
func (w *Workset) widen(in Input, lim, plan int, p *Pack, cache map[int]*record.Record) (*Pack, error) {
	for i := 0; i < 2 && p.used() < lim-lim/50; i++ {
		plan += lim - p.used()
		wider, err := w.try(in, plan, cache)
		if err != nil {
			return nil, err
		}
		if wider.used() > lim {
			break
		}
		p = wider
	}
	return p, nil
}

// used is the pack's size as a budget sees it: the whole text, or the sum of its items when joining made that larger.
func (p *Pack) used() int {
	sum := 0
	for i := range p.Items {
		sum += p.Items[i].Tokens
	}
	return max(sum, p.Tokens)
}

// try makes the pack of a plan of lim tokens. The text may come out a little larger.
func (w *Workset) try(in Input, lim int, cache map[int]*record.Record) (*Pack, error) {
	b := &builder{w: w, in: in, lim: lim, page: newPage(w), chosen: map[int]float64{}, working: map[int]float64{}, parted: map[int]bool{}, set: map[dedup.Place]int{}, user: w.latestUser(w.Len())}
	b.full = max(in.Budget-in.Reserve, 0)
	b.limits = limitsOf(b.full)
	b.flow = flow{w: w, h: in.History, limit: b.limitOf, stand: b.standIn, in: b.has, cache: cache, query: in.Query, whole: map[dedup.Place]string{},
		target: in.target(), noThinking: !in.sees(KindThinking), noStartup: !in.sees(KindInstructions)}
	room := lim - b.header()
	fixed := b.place(b.fixedDocs(), room-min(room/3, 400))
	b.open = b.full - fixed
	room -= fixed
	if err := b.choose(room); err != nil {
		return nil, err
	}
	if err := b.write(); err != nil {
		return nil, err
	}
	b.account()
	p := &Pack{Markdown: b.page.bytes(), Items: b.items, Omitted: b.omitted}
	p.Tokens = b.page.count()
	if b.user > 0 && !b.shows(b.user) && !w.isHidden(b.user, in.target()) {
		p.Tokens = lim * 2 // no pack without the latest user message: plan smaller, or give up
	}
	return p, nil
}

// header opens the page. Nothing in it changes from one append to the next.
func (b *builder) header() int {
	h := "# Context pack of " + clean(b.in.Agent+"/"+b.in.Session, 140) + "\n\n"
	if b.lim >= 1500 {
		h += fmt.Sprintf("Budget %d tokens (%s). [N ...] starts record N of messages.jsonl. What is left out or cut here is whole under "+
			"context/swap/open/, as messages:12 or messages:12-18; pack.json lists it.\n\n", b.in.Budget, b.w.tok.Name())
	}
	b.page.write(h)
	return b.w.countShown(h)
}

// has is the set of records that the pack shows, as far as it is chosen.
func (b *builder) has(n int) bool {
	if b.w.isSide(n) {
		return b.isChosen(n)
	}
	if n > b.settled || n >= b.start && !b.parted[n] || b.isTask(n) {
		return true
	}
	_, ok := b.chosen[n]
	return ok
}

// isTask tells whether n is a message of the user that must be in.
func (b *builder) isTask(n int) bool { return n > 0 && (n == b.user || n == b.task) }

// standIn gives the record in the pack that block k of record n is superseded by.
func (b *builder) standIn(n, k int) int {
	by, ok := b.w.stale.by(dedup.Place{Rec: uint32(n), Block: uint32(k)}, b.settled)
	if ok && b.has(by) {
		return by
	}
	return 0
}

// shows tells whether record n stands in an item.
func (b *builder) shows(n int) bool {
	for i := range b.items {
		if r, ok := itemRange(b.items[i]); ok && r.A <= n && n <= r.B {
			return true
		}
	}
	return false
}

// least is the pack that says only that the budget is too small: in words, in one word, or empty.
func (w *Workset) least(in Input, lim int) *Pack {
	b := &builder{w: w, in: in, page: page{w: w}}
	b.place(b.fixedDocs(), 0) // all of them omitted
	b.start = w.Len() + 1
	b.account()
	p := &Pack{Omitted: b.omitted}
	for _, text := range []string{
		fmt.Sprintf("# Context pack\n\nerror: a budget of %d tokens holds no pack of this session; raise context/budget, or see pack.json\n", in.Budget),
		"error: budget too small\n", "error\n", "",
	} {
		if n := w.tok.Count(text); n <= lim || text == "" {
			p.Markdown, p.Tokens = []byte(text), n
			break
		}
	}
	p.Items = []Item{{Kind: kindError, Source: "context/budget", Tokens: p.Tokens, Note: "the budget is too small for any pack of this session"}}
	return p
}
