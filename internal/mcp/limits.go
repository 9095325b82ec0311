package mcp

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"ctxfs/internal/session"
)

// The sizes of answers, in tokens. A client refuses a long answer whole, or its model's context is full: so the default is small,
// and what is left out is named.
const (
	defaultTokens        = 4000
	minTokens, maxTokens = 100, 100_000
	minBudget            = 100
	defaultBudget        = 8000
)

// tokens returns how many tokens an answer may have.
func tokens(asked int) (int, error) {
	if asked == 0 {
		return defaultTokens, nil
	}
	if asked < minTokens || asked > maxTokens {
		return 0, fmt.Errorf("max_tokens is %d: it is from %d to %d; without it, %d", asked, minTokens, maxTokens, defaultTokens)
	}
	return asked, nil
}

// limit returns how many entries an answer may have.
func limit(asked, def, most int) (int, error) {
	if asked == 0 {
		return def, nil
	}
	if asked < 0 || asked > most {
		return 0, fmt.Errorf("limit is %d: it is from 1 to %d; without it, %d", asked, most, def)
	}
	return asked, nil
}

func checkBudget(n int) error {
	if n < minBudget || n > session.MaxBudget {
		return fmt.Errorf("budget is %d: a pack has from %d to %d tokens; without a budget, the session's own, at most %d", n, minBudget, session.MaxBudget, defaultBudget)
	}
	return nil
}

// checkPack checks what a pack is asked for, as far as it goes without the session.
func checkPack(in packArgs) error {
	if in.Budget != 0 {
		if err := checkBudget(in.Budget); err != nil {
			return err
		}
	}
	if in.At < 0 {
		return fmt.Errorf("at is %d: records are numbered from 1; without at, the newest", in.At)
	}
	if in.Target != "" && !slices.Contains(session.PackTargets(), in.Target) {
		return fmt.Errorf("target is %q: it is one of %s; without it, model", in.Target, strings.Join(session.PackTargets(), ", "))
	}
	return nil
}

// page returns the part of a text from a byte on that has at most max tokens, and a note when it is not the whole.
func (s *Server) page(text string, from, max int) (part, note string, err error) {
	if from < 0 || from > len(text) || from < len(text) && !utf8.RuneStart(text[from]) {
		return "", "", fmt.Errorf("offset is %d: it is from 0 to %d, where a character begins, as an earlier answer says", from, len(text))
	}
	tok, err := s.tok()
	if err != nil {
		return "", "", err
	}
	n, _ := tok.Prefix(text[from:], max)
	end := from + n
	if from > 0 || end < len(text) {
		note = fmt.Sprintf("bytes %d to %d of %d", from, end, len(text))
	}
	if end < len(text) {
		note += fmt.Sprintf("; go on with offset %d", end)
	}
	return text[from:end], note, nil
}
