package session

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"

	"ctxfs/internal/beneath"
)

// Glance is what is known of a session without work: no log is opened for it, nothing is built, and a session at rest goes on resting.
type Glance struct {
	State   string    `json:"state"`
	CWD     string    `json:"cwd"`
	Title   string    `json:"title,omitempty"` // of meta.json, its start, without secrets
	Updated time.Time `json:"updated_at"`
	Bytes   int64     `json:"messages_bytes"`   // length of messages.jsonl
	Added   int64     `json:"records_appended"` // to it, since the store was opened
	Pack    PackState `json:"pack"`             // whether pack.md stands ready
	Tokens  int       `json:"tokens"`           // of the pack that was made last; 0: none was
	Budget  int       `json:"budget_tokens"`    // of that pack
	Packs   int       `json:"packs_built"`      // of pack.md, since the store was opened
}

// GlanceAttr names the extended attribute of a session's folder in a mount that has its Glance, as a JSON object.
const GlanceAttr = "user.ctxfs.glance"

// PackState tells what the next read of pack.md meets.
type PackState string

// The states of a pack.
const (
	PackNone    PackState = "none"    // none was made since the store was opened
	PackReady   PackState = "ready"   // it is as the session is
	PackStale   PackState = "stale"   // the session changed since: it is to be built
	PackResting PackState = "resting" // nothing changed, but it was given up: it is to be built
	PackBusy    PackState = "busy"    // something is being built
)

// made is what is remembered of a pack of pack.md that was made.
type made struct {
	gen            generation
	tokens, budget int
	count          int // of packs
}

// note remembers a pack of pack.md; mu is held.
func (x *Session) note(gen generation, tokens, budget int) {
	m := &made{gen: gen, tokens: tokens, budget: budget, count: 1}
	if old := x.newest.Load(); old != nil {
		m.count += old.count
	}
	x.newest.Store(m)
}

// Glance looks at the session of that name. No object is made of one that nobody uses.
func (c *Container) Glance(name string) (g Glance, err error) {
	if _, err := c.Has(name); err != nil {
		return g, err
	}
	rel := path.Join(c.SessionsRel(), name)
	if err = c.store.dir.Look(rel, func(f beneath.Folder) (err error) {
		g.words(c.store, f)
		g.Updated, err = c.store.updatedIn(f, rel)
		return err
	}); err != nil {
		return g, err
	}
	c.store.mu.Lock()
	x := c.store.sessions[rel]
	c.store.mu.Unlock()
	g.Pack = PackNone
	if x == nil {
		if g.Bytes, _, err = c.store.logStat(rel, Messages); errors.Is(err, fs.ErrNotExist) {
			err = nil // a session that was made by hand
		}
		return g, err
	}
	if g.Bytes, _, err = x.LogStat(Messages); err != nil {
		return g, err
	}
	g.Added = x.appended()
	if m := x.newest.Load(); m != nil {
		g.Tokens, g.Budget, g.Packs = m.tokens, m.budget, m.count
		g.Pack = x.packState(m, g.Bytes)
	}
	return g, nil
}

// maxGlance is the largest meta.json that a Glance reads, and maxWord how much it shows of a title or a path, in bytes.
const maxGlance, maxWord = 64 << 10, 512

// words reads what the session says of itself in its folder. What is not written, or cannot be read, is as nobody had written it.
func (g *Glance) words(s *Store, f beneath.Folder) {
	buf := make([]byte, maxGlance)
	read := func(name string) []byte {
		data, err := f.ReadAll(name, buf)
		if err != nil {
			return nil
		}
		return data
	}
	g.State, g.CWD = start(trimmed(read("state"), "idle")), start(trimmed(read("cwd"), "/"))
	if g.Title = metaField(read("meta.json"), "title"); g.Title != "" {
		g.Title = start(s.maskTitle(g.Title, read(RedactFile)))
	}
}

// maskTitle masks the secrets of a title. Without rules it returns none of it.
func (s *Store) maskTitle(title string, own []byte) string {
	rules, err := s.rules(own)
	if err != nil {
		return ""
	}
	title, _ = rules.Mask(title)
	return title
}

// start cuts a text that is long for a word, between two characters.
func start(text string) string {
	if len(text) <= maxWord {
		return text
	}
	return strings.ToValidUTF8(text[:maxWord], "")
}

// appended is how many records were appended to messages.jsonl.
func (x *Session) appended() int64 {
	x.logMu.Lock()
	defer x.logMu.Unlock()
	if l := x.logs[Messages]; l != nil {
		return x.added + l.Lines()
	}
	return x.added
}

// packState compares the pack that was made last with the session, whose log is size bytes long.
func (x *Session) packState(m *made, size int64) PackState {
	if !x.mu.TryLock() {
		return PackBusy
	}
	defer x.mu.Unlock()
	if m.gen.size != size || m.gen.ctl != x.ctl.Load() {
		return PackStale
	}
	if x.fold == nil || x.cache["for "+(PackFile{}).Name()].pack == nil {
		return PackResting
	}
	return PackReady
}
