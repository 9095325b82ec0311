package derive

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"ctxfs/internal/record"
)

// file is a path that tool calls named, with each touch in order of the log.
type file struct {
	path    string
	touches []touch
}

// touched is a touch by the number of its file.
type touched struct {
	n, file int32
	shell   bool
}

type touch struct {
	n     int32
	block uint16 // from 1
	edit  bool
	shell bool // a shell command prints the file: no mention that refs count
}

// Ref is a line of refs.jsonl.
type Ref struct {
	ID      string `json:"id"`
	Path    string `json:"path"`
	Kind    string `json:"kind"` // file or tool_output
	Summary string `json:"summary"`
	Source  string `json:"source"`
}

// touch keeps the files that a tool call names.
func (s *State) touch(n, block int, b *record.Block) {
	edit := Edits(b.Name)
	paths := Paths(b)
	shell := len(paths) == 0
	for _, p := range Touched(b) {
		i, ok := s.byPath[p]
		if !ok {
			i = len(s.files)
			s.byPath[p] = i
			s.files = append(s.files, file{path: p})
		}
		s.order = append(s.order, touched{int32(n), int32(i), shell})
		s.files[i].touches = append(s.files[i].touches, touch{int32(n), uint16(min(block, math.MaxUint16)), edit, shell})
	}
}

// Edits tells whether a tool of that name changes the files that it is given.
func Edits(tool string) bool {
	t := strings.ToLower(tool)
	return hasAny(t, "edit", "write", "patch", "replace", "create", "insert")
}

// Paths lists the files that a tool call names: in the argument that is known to hold a path, or as a patch's headers.
func Paths(b *record.Block) []string {
	var in record.Args
	if !in.Read(b.Input) {
		return patchPaths(b.Input)
	}
	for _, key := range [...]string{"file_path", "notebook_path", "absolute_path", "filePath", "filename", "path", "file"} {
		if p, ok := in.Text(key); ok && p != "" && !strings.ContainsAny(p, "\n*") {
			return []string{p}
		}
	}
	for _, key := range [...]string{"patch", "input"} {
		if patch, ok := in.Text(key); ok {
			return patchPaths(patch)
		}
	}
	return nil
}

func patchPaths(patch string) []string {
	var out []string
	if !strings.Contains(patch, "*** ") {
		return nil
	}
	for l := range strings.SplitSeq(patch, "\n") {
		for _, head := range [...]string{"*** Update File: ", "*** Add File: ", "*** Delete File: "} {
			if p, ok := strings.CutPrefix(l, head); ok {
				out = append(out, strings.TrimSpace(p))
			}
		}
	}
	return out
}

// LatestRefs is Refs of the count files touched last, in the same order and with the same ids.
func (s *State) LatestRefs(upTo, count int) []byte {
	pick := s.recent(upTo, count, false)
	slices.Sort(pick)
	var out bytes.Buffer
	for _, i := range pick {
		if r, ok := s.files[i].ref(i, upTo); ok {
			line(&out, r)
		}
	}
	return out.Bytes()
}

// Refs writes refs.jsonl as of record upTo: the files that tool calls named, in order of first mention, and the large
// outputs that tools gave.
func (s *State) Refs(upTo int) []byte {
	var out bytes.Buffer
	for i := range s.files {
		if r, ok := s.files[i].ref(i, upTo); ok {
			line(&out, r)
		}
	}
	s.outputRefs(&out, upTo)
	return out.Bytes()
}

func (f *file) ref(i, upTo int) (Ref, bool) {
	k := sort.Search(len(f.touches), func(k int) bool { return int(f.touches[k].n) > upTo })
	if k == 0 {
		return Ref{}, false
	}
	named, edits, first, last := 0, 0, 0, 0
	for _, t := range f.touches[:k] {
		if t.shell {
			continue
		}
		if t.edit {
			edits++
		}
		if named++; named == 1 {
			first = int(t.n)
		}
		last = int(t.n)
	}
	if named == 0 {
		return Ref{}, false
	}
	return Ref{ID: "r" + strconv.Itoa(i+1), Path: f.path, Kind: "file", Source: ref(last),
		Summary: fmt.Sprintf("named in %d tool calls, %d of them edits; first messages:%d, last messages:%d", named, edits, first, last)}, true
}

// Writes tells whether a call holds the whole new content of a file.
func Writes(b *record.Block) bool {
	var in record.Args
	content := false
	if in.Read(b.Input) {
		in.Like("content", func(raw string) { content = raw[0] == '"' })
	}
	return content
}

// Part names the part of a file that a read asks for; "" is the whole.
func Part(args string) string {
	var in record.Args
	if !in.Read(args) {
		return ""
	}
	part := ""
	for _, key := range [...]string{"offset", "limit", "start_line", "end_line", "line_start", "line_end", "view_range", "pattern", "pages", "cmd", "command"} {
		if v := in.Raw(key); v != "" && v != "null" {
			part += key + "=" + v + " "
		}
	}
	return part
}
