package derive

import (
	"hash/fnv"
	"strings"
)

// What a sentence can be.
const (
	nothing = iota
	fact
	decision
)

// Limits on what is taken as a sentence: shorter ones say nothing alone, longer ones are pasted text.
const (
	minSaying = 12
	maxSaying = 400
	maxHeard  = 8 << 10 // bytes of one message that are listened to
)

// listen keeps the sentences of text that judge takes for facts or decisions, each once. It masks only a text that has such a
// sentence: masking takes longer than all else here.
func (s *State) listen(n int, text string, judge func(string) int) {
	says := false
	sentences(text[:min(len(text), maxHeard)], func(t string) { says = says || judge(" "+strings.ToLower(t)+" ") != nothing })
	if !says {
		return
	}
	text = s.mask(text)
	sentences(text[:min(len(text), maxHeard)], func(t string) {
		kind := judge(" " + strings.ToLower(t) + " ")
		if kind == nothing || !s.first(t) {
			return
		}
		if kind == fact {
			s.facts = append(s.facts, saying{n, t})
		} else {
			s.decisions = append(s.decisions, saying{n, t})
		}
	})
}

func (s *State) first(t string) bool {
	h := fnv.New64a()
	_, _ = h.Write([]byte(t)) // a hash takes every write
	k := h.Sum64()
	if s.seen[k] {
		return false
	}
	s.seen[k] = true
	return true
}

// sentences yields the prose sentences of text: what is fenced, quoted, marked up or looks like code is passed over.
func sentences(text string, yield func(string)) {
	fenced := false
	for _, l := range strings.Split(text, "\n") {
		l = strings.TrimSpace(l)
		if strings.HasPrefix(l, "```") || strings.HasPrefix(l, "~~~") {
			fenced = !fenced
		}
		if fenced || l == "" || !prose(l) {
			continue
		}
		for _, t := range splitSentences(strings.TrimLeft(strings.ReplaceAll(l, "**", ""), "-*• ")) {
			if len(t) >= minSaying && len(t) <= maxSaying {
				yield(t)
			}
		}
	}
}

func prose(l string) bool {
	switch l[0] {
	case '<', '>', '{', '[', '|', '#', '/', '`', '=', '+', '$', '@':
		return false
	}
	return !strings.HasSuffix(l, "{") && !strings.HasSuffix(l, ";") && strings.Contains(l, " ")
}

// splitSentences cuts a line after '.', '!' or '?' that a space follows.
func splitSentences(l string) []string {
	var out []string
	start := 0
	for i := 0; i+1 < len(l); i++ {
		if c := l[i]; (c == '.' || c == '!' || c == '?') && l[i+1] == ' ' {
			out = append(out, strings.TrimSpace(l[start:i+1]))
			start = i + 1
		}
	}
	return append(out, strings.TrimSpace(l[start:]))
}

func hasAny(t string, marks ...string) bool {
	for _, m := range marks {
		if strings.Contains(t, m) {
			return true
		}
	}
	return false
}

// userSays judges a sentence of the user: standing rules and what they tell about themselves are facts, choices are
// decisions. A question is neither. That something "always fails" is no rule: a rule says so at its start, or by "must".
func userSays(t string) int {
	if strings.HasSuffix(strings.TrimSpace(t), "?") {
		return nothing
	}
	switch {
	case hasAny(t, " let's go with ", " we'll go with ", " go with option ", " let's use ", " we decided ", " i decided ", " we will use ", " decision:"):
		return decision
	case startsRule(t), hasAny(t, " remember that ", " keep in mind ", " don't ever ", " my name is ", " i prefer ", " we always ", " we never ", " must not ",
		" must never ", " must always ", " should never ", " should always ", " and never ", " from now on ",
		" do not touch ", " don't touch ", " constraint: ", " constraints: "), hasAny(t, " we use ") && !hasAny(t, " if we use "):
		return fact
	}
	return nothing
}

// startsRule tells whether a sentence, in lower case and after a space, starts as an instruction that is to last.
func startsRule(t string) bool {
	t = strings.TrimSpace(t)
	for _, w := range []string{"please ", "and ", "also ", "but ", "so "} {
		t = strings.TrimPrefix(t, w)
	}
	for _, w := range []string{"always ", "never ", "do not ", "don't ", "make sure ", "be sure ", "remember ", "important:", "note that ", "note:"} {
		if strings.HasPrefix(t, w) {
			return true
		}
	}
	return false
}

// assistantSays judges a sentence of the agent: only choices that it states as made.
func assistantSays(t string) int {
	if hasAny(t, " we decided ", " i decided to ", " i've decided ", " decision:", " we agreed ", " as agreed, ") {
		return decision
	}
	return nothing
}
