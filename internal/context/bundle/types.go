package bundle

import (
	"math"
	"strconv"
)

// Format and Version are what manifest.json says; a reader takes every version of the same major one.
const (
	Format  = "artesian.working-context"
	Version = "0.1"
)

// The files of a bundle. The first two are required.
const (
	ManifestFile  = "manifest.json"
	SnapshotFile  = "snapshot.json"
	LifecycleFile = "lifecycle.jsonl"
	MirrorFile    = "snapshot.md"
)

// Inline is the unit_source of a bundle whose entries carry their content; Files that of one that refers to files.
const (
	Inline = "inline"
	Files  = "files"
)

// Resolutions: how the content of an entry is represented now.
const (
	Full       = "full"
	Compressed = "compressed"
	Pointer    = "pointer"
)

// Decisions of the lifecycle.
const (
	Commit    = "commit"
	Evict     = "evict"
	Supersede = "supersede"
	Deprecate = "deprecate"
)

// Statuses: what an importer may make of an entry.
const (
	Hypothesis = "hypothesis"
	Active     = "active"
	Validated  = "validated"
	Deprecated = "deprecated"
	Superseded = "superseded"
)

// Bundle is a bundle in memory.
type Bundle struct {
	Manifest  Manifest
	Snapshot  Snapshot
	Lifecycle []Line
}

// Manifest is manifest.json. Optional fields are "" when absent.
type Manifest struct {
	Format, Version string
	AgentID         string // optional
	CreatedAt       string // RFC 3339, as written
	UnitSource      string // inline, files, pam, amp, ...
	UnitRef         string // optional: where the unit store is
	Foreign         Foreign
}

// Snapshot is snapshot.json.
type Snapshot struct {
	Schema       []string // slots, in the order in which they are shown
	BudgetTokens int
	TokenCount   int // the sum of the entries' tokens
	Entries      []Entry
	Foreign      Foreign
}

// Entry is one committed entry.
type Entry struct {
	ID, Slot    string
	Content     string // may be empty for a pointer
	Tokens      int
	Score       Number
	Resolution  string
	UnitRef     string // optional: where the whole is, in the unit layer
	CommittedAt string // RFC 3339, as written
	Foreign     Foreign
}

// Line is a line of lifecycle.jsonl.
type Line struct {
	TS, EntryID, Decision, Status string
	Supersedes                    string // optional: the entry that this one replaces
	Reason                        *Reason
	Foreign                       Foreign
}

// Reason holds the signals of a decision; see History for how ctxfs computes them.
type Reason struct {
	Relevance, Novelty, Drift Number
	Foreign                   Foreign
}

// Number is a JSON number that keeps its spelling. The zero Number is absent.
type Number struct{ text string }

// NumberOf writes f with four decimals at most. What is no number becomes 0.
func NumberOf(f float64) Number {
	f = math.Round(f*1e4) / 1e4
	if math.IsNaN(f) || math.IsInf(f, 0) || f == 0 { // no -0
		return Number{"0"}
	}
	return Number{strconv.FormatFloat(f, 'f', -1, 64)}
}

// Float is the number's value; 0 when absent.
func (n Number) Float() float64 {
	f, _ := strconv.ParseFloat(n.text, 64) // "" gives 0; what was read from a file parses
	return f
}

// String is the number as written, "" when absent.
func (n Number) String() string { return n.text }

// The bounds of a bundle. It is "small, human-readable": what is larger is refused before it is taken apart.
const (
	MaxFile    = 8 << 20 // bytes of one file
	MaxEntries = 10_000
	MaxLines   = 100_000
	MaxTokens  = 1 << 40 // of an entry, a snapshot or a budget
	maxName    = 256     // bytes of an id or a slot
	maxRef     = 4096    // bytes of a reference
	maxDepth   = 64      // objects and lists within each other
	maxFound   = 100     // problems that are told of one bundle
)
