package session

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"ctxfs/internal/context/pack"
)

// PackTargets lists whom a pack can be for; the first is the default.
func PackTargets() []string { return pack.Targets() }

// PackFile is what the name of a pack's file says.
type PackFile struct {
	Budget int    // tokens; 0: the session's own
	Target string // whom it is for; "" is the model
	At     int    // the record up to which the log counts; 0: all of it
	Query  string // what older records are ranked against; "": the latest user message
	JSON   bool
}

// PackName reads a pack's file name: pack.md, pack.json, pack@8000.md, pack.tool.md; and one with what is asked for, as
// "pack@8000.user#120?why did the mount fail.md": up to record 120, for a question in which '/' and '%' stand as %2F and %25.
func PackName(name string) (PackFile, bool) {
	var f PackFile
	stem, isMD := strings.CutSuffix(name, ".md")
	if !isMD {
		if stem, f.JSON = strings.CutSuffix(name, ".json"); !f.JSON {
			return f, false
		}
	}
	stem, query, asks := strings.Cut(stem, "?")
	if asks {
		var err error
		if f.Query, err = url.PathUnescape(query); err != nil || strings.TrimSpace(f.Query) == "" {
			return f, false
		}
	}
	stem, at, isAt := strings.Cut(stem, "#")
	if f.At = decimal(at); isAt && f.At == 0 {
		return f, false
	}
	stem, target, aimed := strings.Cut(stem, ".")
	if f.Target = target; aimed && (target == pack.TargetModel || !slices.Contains(pack.Targets(), target)) {
		return f, false
	}
	digits, sized := strings.CutPrefix(stem, "pack@")
	if !sized {
		return f, stem == "pack"
	}
	f.Budget = decimal(digits)
	return f, f.Budget > 0 && f.Budget <= MaxBudget
}

// recallName reads the name of an answer of recall: a question, or "@4000?" and a question for an answer of so many tokens.
// budget is 0 when the name has none.
func recallName(name string) (query string, budget int) {
	digits, query, asks := strings.Cut(strings.TrimPrefix(name, "@"), "?")
	if n := decimal(digits); asks && name[0] == '@' && n > 0 && n <= MaxBudget && strings.TrimSpace(query) != "" {
		return query, n
	}
	return name, 0
}

// RecallName writes the name of an answer of recall in at most budget tokens.
func RecallName(query string, budget int) string { return "@" + strconv.Itoa(budget) + "?" + query }

// decimal reads a number from 1 on as strconv writes it; 0 for anything else.
func decimal(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || strconv.Itoa(n) != s {
		return 0
	}
	return n
}

// Name writes the file's name, which may be longer than a file's name can be when it holds a question.
func (f PackFile) Name() string {
	name := "pack"
	if f.Budget > 0 {
		name += "@" + strconv.Itoa(f.Budget)
	}
	if f.Target != "" {
		name += "." + f.Target
	}
	if f.At > 0 {
		name += "#" + strconv.Itoa(f.At)
	}
	if f.Query != "" {
		name += "?" + strings.NewReplacer("%", "%25", "/", "%2F", "\x00", "").Replace(f.Query)
	}
	if f.JSON {
		return name + ".json"
	}
	return name + ".md"
}
