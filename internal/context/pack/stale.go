package pack

import (
	"ctxfs/internal/context/derive"
	"ctxfs/internal/dedup"
	"ctxfs/internal/record"
)

// content is a block that shows a file, or the part of it that a read asked for.
type content struct {
	part string
	at   dedup.Place
}

// stale knows which tool outputs a later one stands in for: the older reads of a file, and the same text again.
type stale struct {
	newer map[dedup.Place]uint32 // block -> the record that made it old
	reads map[string][]content   // by path: what shows the file now
	files map[dedup.Place]asked  // calls that have no answer yet, which will be a file's content
	live  map[dedup.Place]bool   // blocks that show a file's content
}

// asked is the file that a call reads, and which part of it.
type asked struct{ path, part string }

func newStale() *stale {
	return &stale{newer: map[dedup.Place]uint32{}, reads: map[string][]content{}, files: map[dedup.Place]asked{}, live: map[dedup.Place]bool{}}
}

// call folds a tool call: a read is kept until its result comes, a write gives the content itself.
func (s *stale) call(b *record.Block, at dedup.Place) {
	paths := derive.Touched(b)
	if len(paths) != 1 {
		return
	}
	if !derive.Edits(b.Name) {
		s.files[at] = asked{paths[0], derive.Part(b.Input)}
	} else if derive.Writes(b) {
		s.content(paths[0], "", at)
	}
}

// minContent is the size in bytes from which an answer to a read counts as the file's content: a shorter one may say
// that there is no such file, or that it has not changed.
const minContent = 200

// result folds the answer to a call. One that failed shows no file.
func (s *stale) result(b *record.Block, call, at dedup.Place) {
	a, ok := s.files[call]
	delete(s.files, call)
	if ok && !b.IsError && len(b.Text) >= minContent {
		s.content(a.path, a.part, at)
	}
}

// content notes that a block shows the file at path: all of it, or a part. It makes older blocks
// with the whole or with the same part old.
func (s *stale) content(path, part string, at dedup.Place) {
	shown := s.reads[path]
	kept := shown[:0]
	for _, c := range shown {
		if part == "" || c.part == part {
			s.newer[c.at] = at.Rec
		} else {
			kept = append(kept, c)
		}
	}
	s.reads[path] = append(kept, content{part, at})
	s.live[at] = true
}

// repeat notes that the text at an older place stands again at a newer one.
func (s *stale) repeat(old, at dedup.Place) {
	if _, ok := s.newer[old]; !ok && old.Rec != at.Rec {
		s.newer[old] = at.Rec
	}
}

// by gives the record, upTo at most, that makes a block old.
func (s *stale) by(at dedup.Place, upTo int) (int, bool) {
	n, ok := s.newer[at]
	return int(n), ok && int(n) <= upTo
}
