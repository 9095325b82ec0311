package redact

import (
	"regexp"
	"strings"
)

// gatesPerReach is how often a rule looks exactly whether a match begins at its keyword, for each length that a match
// can have. Where keywords stand closer, looking at all of the text is cheaper, and linear.
const gatesPerReach = 8

// hit is what one rule found: its match in the text, and the secret in the match.
type hit struct {
	rule        *rule
	start, end  int
	from, until int // the whole match
}

// piece is a part of the text.
type piece struct{ start, end int }

// scan is one pass over a text.
type scan struct {
	rules  *Rules
	text   string
	places []place // by rule; made when the first is needed
	seen   []*rule // rules that have something to look at, in the order of the text
	line   piece   // the line whose allowlists were asked last
	lined  map[*allowlist]bool
	hits   []hit
}

// place is where one rule must look.
type place struct {
	pieces []piece
	end    int // of the last match that needed no piece
	gates  int // looks since the position at
	at     int
}

// scanText gives what all rules find, each rule's hits in the order of the text.
func (r *Rules) scanText(text string) []hit {
	s := &scan{rules: r, text: text}
	r.keywords.each(text, func(word, start int) bool {
		for _, rule := range r.byWord[word] {
			s.keyword(rule, start)
		}
		return true
	})
	for _, rule := range s.seen {
		s.look(rule, s.places[rule.number].pieces)
	}
	for _, rule := range r.own {
		s.whole(rule)
	}
	return s.hits
}

// keyword notes where a rule must look because its keyword stands at k.
func (s *scan) keyword(r *rule, k int) {
	if !r.ready() || !passes(r.gate, s.text, k) || r.assigns && !assigned(s.text, k) {
		return
	}
	if s.places == nil {
		s.places = make([]place, len(s.rules.rules))
	}
	place := &s.places[r.number]
	p := piece{max(0, k-r.before), min(len(s.text), k+r.after)}
	if r.tail != nil && (r.named || place.mayLook(k, r.after)) {
		at := r.tail.FindStringIndex(s.text[k:p.end])
		if at == nil || r.named && s.named(r, place, k, k+at[1]) {
			return
		}
		p.end = min(p.end, k+at[1]+room)
	}
	if r.anywhere {
		p = piece{0, len(s.text)}
	}
	p.start = max(p.start, place.end)
	if place.pieces == nil {
		s.seen = append(s.seen, r)
	}
	place.add(p)
}

// named takes the match of a rule whose patterns begin with the rest of a name, when the name in them begins at k and the
// match ends at end: what the pattern would match from the left is known then. It says no where it is not.
func (s *scan) named(r *rule, p *place, k, end int) bool {
	if n := len(p.pieces); n > 0 && k < p.pieces[n-1].end+nameMax {
		return false
	}
	if k < p.end {
		return true // in the match before
	}
	start := k
	for start > p.end && k-start < nameMax && nameByte(s.text[start-1]) {
		start--
	}
	if start > p.end && s.text[start-1] >= 128 {
		return false // maybe a letter that is one of ASCII in another case
	}
	p.end = end
	s.keep(r, [][]int{{start, end}}, 0)
	return true
}

// mayLook counts looks, so that many keywords that are no secret cost no more than the length of the text, times a
// constant. A rule with an operator needs no count: what it looks at begins near the keyword, and has no operator in it.
func (p *place) mayLook(k, reach int) bool {
	if k >= p.at+reach {
		p.at, p.gates = k, 0
	}
	p.gates++
	return p.gates <= gatesPerReach
}

// add joins pieces that touch; they come in the order of their keywords, which is that of their beginnings.
func (p *place) add(next piece) {
	if n := len(p.pieces); n > 0 && next.start <= p.pieces[n-1].end {
		p.pieces[n-1].end = max(p.pieces[n-1].end, next.end)
		return
	}
	p.pieces = append(p.pieces, next)
}

// look runs a rule over its pieces. What ends where a piece is cut may match there only because it is cut: then the piece
// is made longer, twice as long at least, so that all of it stays linear.
func (s *scan) look(r *rule, pieces []piece) {
	for i := 0; i < len(pieces); i++ {
		p := pieces[i]
		for {
			for i+1 < len(pieces) && pieces[i+1].start <= p.end {
				i++
				p.end = max(p.end, pieces[i].end)
			}
			found := r.find(s.text[p.start:p.end])
			if n := len(found); n == 0 || p.end == len(s.text) || p.start+found[n-1][1] < p.end {
				s.keep(r, found, p.start)
				break
			}
			p.end = min(len(s.text), p.end+max(r.after, p.end-p.start))
		}
	}
}

func (r *rule) find(text string) [][]int {
	if r.near != nil && !r.near.in(text) {
		return nil
	}
	return r.re.FindAllStringIndex(text, -1)
}

// keep judges matches in the text from base on.
func (s *scan) keep(r *rule, found [][]int, base int) {
	for _, at := range found {
		if h, ok := s.secret(r, base+at[0], base+at[1]); ok && !s.allowed(r, h) {
			s.hits = append(s.hits, h)
		}
	}
}

// whole runs a session's own rule.
func (s *scan) whole(r *rule) {
	for _, lit := range r.literals {
		for at := 0; ; {
			i := strings.Index(s.text[at:], lit)
			if i < 0 {
				break
			}
			at += i + len(lit)
			s.hits = append(s.hits, hit{r, at - len(lit), at, at - len(lit), at})
		}
	}
	if r.Regex == "" || !r.ready() {
		return
	}
	for _, at := range r.re.FindAllStringIndex(s.text, -1) {
		if h, ok := s.secret(r, at[0], at[1]); ok {
			s.hits = append(s.hits, h)
		}
	}
}

// secret finds the secret in a match as gitleaks does: without the newlines around, and in the group of a second match
// of the match alone.
func (s *scan) secret(r *rule, start, end int) (hit, bool) {
	for start < end && s.text[start] == '\n' {
		start++
	}
	for end > start && s.text[end-1] == '\n' {
		end--
	}
	h := hit{r, start, end, start, end}
	groups := r.re.FindStringSubmatchIndex(s.text[start:end])
	for g := 1; 2*g < len(groups); g++ {
		if r.Group == g || r.Group == 0 && groups[2*g+1] > groups[2*g] {
			h.start, h.end = start+groups[2*g], start+groups[2*g+1]
			break
		}
	}
	if h.end <= h.start || groups != nil && r.Group > 0 && groups[2*r.Group] < 0 {
		return h, false
	}
	return h, r.Entropy == 0 || entropy(s.text[h.start:h.end]) > r.Entropy
}

// allowed tells whether an allowlist names what was found.
func (s *scan) allowed(r *rule, h hit) bool {
	for _, lists := range [][]*allowlist{s.rules.allow, r.Allow} {
		for _, a := range lists {
			if a.ready(); s.lists(a, h) {
				return true
			}
		}
	}
	return false
}

func (s *scan) lists(a *allowlist, h hit) bool {
	secret := s.text[h.start:h.end]
	if a.stop != nil && a.stop.in(secret) {
		return true
	}
	switch {
	case a.re == nil:
		return false
	case a.Target == "match":
		return a.re.MatchString(s.text[h.from:h.until])
	case a.Target == "line":
		return s.lineHas(a, a.re, h)
	}
	return a.re.MatchString(secret)
}

// lineHas looks at the lines of a match; at each line once, for a line may be long and have many matches.
func (s *scan) lineHas(a *allowlist, re *regexp.Regexp, h hit) bool {
	if s.lined == nil || h.from < s.line.start || h.until > s.line.end {
		start := strings.LastIndexByte(s.text[:h.from], '\n') + 1
		end := len(s.text)
		if i := strings.IndexByte(s.text[h.until:], '\n'); i >= 0 {
			end = h.until + i
		}
		s.line, s.lined = piece{start, end}, map[*allowlist]bool{}
	}
	has, asked := s.lined[a]
	if !asked {
		has = re.MatchString(s.text[s.line.start:s.line.end])
		s.lined[a] = has
	}
	return has
}
