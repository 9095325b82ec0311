package fsnode

// kind is the low byte of a node id: which part of the thing that the number names.
type kind uint8

// The kinds. Their values are part of every node id that the kernel holds: append, never reorder.
const (
	kRoot kind = 1 + iota
	kStatus
	kBin
	kBinCtxfs
	kBinCtx
	kAgents
	kModels
	kTool
	kHome
	kShared

	kOwner // home/<uid> or shared/<name>
	kOwnerAgents
	kOwnerModels

	kContainer // an agent or model
	kContRoot
	kSessions
	kIndex
	kIndexList
	kIndexCurrent
	kByCWD

	kSession
	kMessages
	kEvents
	kLatest
	kState
	kCWD
	kCreatedAt
	kUpdatedAt
	kMeta
	kContext
	kBudget
	kPackJSON
	kPackMD
	kSummary
	kFacts
	kDecisions
	kTodo
	kRefs
	kPinned
	kSwap
	kSwapIndex
	kSwapChunk
	kSwapOpen
	kDedup
	kDedupIndex
	kDedupBlob
	kChild
	kPolicy
	kRecall

	kNamed // a generated file found by name: parent and name stand in the table
	kPlain // a plain file or folder: parent and name stand in the table

	kSockets // the folder in which the daemon binds sockets; nobody else finds it
	kSocket  // a socket: its name there stands in the table

	kTemps // the folder of an agent's or model's temporary sessions, there while there is one

	kTrace
	kInjections
	kMissing
	kRedact
	kBundle
	kImported
	kImportedJSON
	kChannels
	kConstraints
	kPreferences
	kSuccess
	kPlan
	kTools
	kRules
)

// class says how a node behaves.
type class uint8

const (
	cDir     class = iota + 1 // a folder of fixed and looked-up names
	cGen                      // a generated file: read-only, a snapshot at open
	cControl                  // a small file, checked and replaced whole
	cLog                      // an append-only log
	cPlain                    // a plain file or folder of the store
	cProgram                  // this program
	cSocket                   // a socket of an agent or model
)

// spec is what is fixed about a kind.
type spec struct {
	name   string
	parent kind
	class  class
	file   string // path relative to the session, where the kind is a part of one
}

// tree is the fixed part of the tree (design: section 2).
type tree struct {
	specs    map[kind]spec
	children map[kind][]kind // in the order of listing
	byName   map[kind]map[string]kind
	classes  [256]class // of specs
}

func newTree() *tree {
	t := &tree{specs: map[kind]spec{}, children: map[kind][]kind{}, byName: map[kind]map[string]kind{}}
	t.add(kRoot, kRoot, "", cDir)
	t.add(kRoot, kStatus, "status", cGen)
	t.add(kRoot, kBin, "bin", cDir)
	t.add(kBin, kBinCtxfs, "ctxfs", cProgram)
	t.add(kBin, kBinCtx, "ctx", cProgram)
	t.add(kRoot, kAgents, "agent", cPlain)
	t.add(kRoot, kModels, "model", cPlain)
	t.add(kRoot, kTool, "tool", cDir)
	t.add(kRoot, kHome, "home", cDir)
	t.add(kRoot, kShared, "shared", cDir)
	t.add(kHome, kOwner, "", cDir)
	t.add(kOwner, kOwnerAgents, "agent", cDir)
	t.add(kOwner, kOwnerModels, "model", cDir)
	t.add(kOwnerAgents, kContainer, "", cDir)
	t.add(kContainer, kContRoot, "root", cPlain)
	t.add(kContainer, kSessions, "session", cDir)
	t.add(kSessions, kIndex, "index", cDir)
	t.add(kIndex, kIndexList, "list", cGen)
	t.add(kIndex, kIndexCurrent, "current", cGen)
	t.add(kIndex, kByCWD, "by-cwd", cDir)
	t.add(kSessions, kSession, "", cDir)
	t.specs[kTemps] = spec{name: "temp", parent: kContainer, class: cDir} // looked up
	t.addSession()
	t.add(kRoot, kSockets, "", cDir)
	t.add(kSockets, kSocket, "", cSocket)
	t.add(kRecall, kNamed, "", cGen)
	t.add(kPinned, kPlain, "", cPlain)
	for k, s := range t.specs {
		t.classes[k] = s.class
	}
	return t
}

func (t *tree) addSession() {
	for _, s := range []struct {
		k kind
		spec
	}{
		{kMessages, spec{"messages.jsonl", kSession, cLog, ""}},
		{kEvents, spec{"events.jsonl", kSession, cLog, ""}},
		{kLatest, spec{"latest.md", kSession, cGen, ""}},
		{kState, spec{"state", kSession, cControl, ""}},
		{kCWD, spec{"cwd", kSession, cControl, ""}},
		{kCreatedAt, spec{"created_at", kSession, cGen, ""}},
		{kUpdatedAt, spec{"updated_at", kSession, cGen, ""}},
		{kMeta, spec{"meta.json", kSession, cControl, ""}},
		{kContext, spec{"context", kSession, cDir, ""}},
		{kBudget, spec{"budget", kContext, cControl, ""}},
		{kPackJSON, spec{"pack.json", kContext, cGen, ""}},
		{kPackMD, spec{"pack.md", kContext, cGen, ""}},
		{kSummary, spec{"summary.md", kContext, cControl, ""}},
		{kFacts, spec{"facts.jsonl", kContext, cControl, ""}},
		{kDecisions, spec{"decisions.jsonl", kContext, cControl, ""}},
		{kTodo, spec{"todo.md", kContext, cControl, ""}},
		{kRefs, spec{"refs.jsonl", kContext, cControl, ""}},
		{kPinned, spec{"pinned", kContext, cPlain, ""}},
		{kSwap, spec{"swap", kContext, cDir, ""}},
		{kSwapIndex, spec{"index.jsonl", kSwap, cGen, ""}},
		{kSwapChunk, spec{"chunk", kSwap, cDir, ""}},
		{kSwapOpen, spec{"open", kSwap, cDir, ""}},
		{kDedup, spec{"dedup", kContext, cDir, ""}},
		{kDedupIndex, spec{"index.jsonl", kDedup, cGen, ""}},
		{kDedupBlob, spec{"blob", kDedup, cDir, ""}},
		{kChild, spec{"child", kContext, cPlain, ""}},
		{kPolicy, spec{"gc.policy", kContext, cControl, ""}},
		{kRecall, spec{"recall", kContext, cDir, ""}},
		{kInjections, spec{"injections.jsonl", kContext, cControl, ""}},
		{kMissing, spec{"missing.jsonl", kContext, cControl, ""}},
		{kBundle, spec{"bundle", kContext, cDir, ""}},
		{kImported, spec{"imported", kContext, cDir, ""}},
		{kImportedJSON, spec{"imported.json", kContext, cControl, ""}},
		{kChannels, spec{"channels", kContext, cDir, ""}},
		{kConstraints, spec{"constraints.jsonl", kContext, cControl, ""}},
		{kPreferences, spec{"preferences.jsonl", kContext, cControl, ""}},
		{kSuccess, spec{"success.jsonl", kContext, cControl, ""}},
		{kPlan, spec{"plan.jsonl", kContext, cControl, ""}},
		{kTools, spec{"tools.jsonl", kContext, cControl, ""}},
		{kRules, spec{"policy.json", kContext, cControl, ""}},
		{kRedact, spec{"redact", kContext, cControl, ""}},
		{kTrace, spec{"trace", kContext, cDir, ""}},
	} {
		t.add(s.parent, s.k, s.name, s.class)
	}
}

// add enters a kind. Kinds with no name of their own are found through the table.
func (t *tree) add(parent, k kind, name string, c class) {
	s := spec{name: name, parent: parent, class: c}
	if p, ok := t.specs[parent]; ok && (p.file != "" || parent == kSession) && name != "" {
		s.file = name
		if p.file != "" {
			s.file = p.file + "/" + name
		}
	}
	t.specs[k] = s
	if name == "" {
		return
	}
	t.children[parent] = append(t.children[parent], k)
	if t.byName[parent] == nil {
		t.byName[parent] = map[string]kind{}
	}
	t.byName[parent][name] = k
}
