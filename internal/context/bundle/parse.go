package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Parse reads a bundle from its files, by their names. The error is Problems: all that is wrong, in the order of the
// files. Nothing of a bundle with a problem is given.
func Parse(files map[string][]byte) (*Bundle, error) {
	var f finder
	b := f.bundle(files)
	if len(f.found) == 0 {
		f.check(b)
	}
	if len(f.found) > 0 {
		return nil, f.found
	}
	return b, nil
}

// Validate tells all that is wrong with a bundle; none when it is good.
func Validate(files map[string][]byte) []Problem {
	_, err := Parse(files)
	found, _ := err.(Problems) // Parse gives no other
	return found
}

func (f *finder) bundle(files map[string][]byte) *Bundle {
	b := &Bundle{}
	if !f.manifest(files, &b.Manifest) {
		return b // of another format nothing else can be said
	}
	if data, ok := f.file(files, SnapshotFile, true); ok {
		f.snapshot(data, &b.Snapshot)
	}
	b.Lifecycle = f.lifecycle(files)
	if data, ok := f.small(files, MirrorFile, false); ok {
		f.prose(data)
	}
	return b
}

// small gives a file within the bounds.
func (f *finder) small(files map[string][]byte, name string, required bool) ([]byte, bool) {
	data, ok := files[name]
	switch {
	case !ok && required:
		f.tell(Problem{File: name}, "is missing", "a bundle needs "+ManifestFile+" and "+SnapshotFile)
	case len(data) > MaxFile:
		f.tell(Problem{File: name}, fmt.Sprintf("has %d bytes", len(data)), fmt.Sprintf("a file of a bundle has at most %d: refer to what is large by unit_ref", MaxFile))
	default:
		return data, ok
	}
	return nil, false
}

// file gives a file that is one sound JSON value.
func (f *finder) file(files map[string][]byte, name string, required bool) ([]byte, bool) {
	data, ok := f.small(files, name, required)
	return data, ok && f.sound(Problem{File: name}, data)
}

// sound tells whether data is sound JSON; at has its first line, or none for line 1.
func (f *finder) sound(at Problem, data []byte) bool {
	line, text := sound(data)
	if line > 0 {
		at.Line = max(at.Line, 1) + line - 1
		f.tell(at, text, "mend the JSON there")
	}
	return line == 0
}

// manifest reads manifest.json; false says that it is not of this format, or cannot be read.
func (f *finder) manifest(files map[string][]byte, m *Manifest) bool {
	data, ok := f.file(files, ManifestFile, true)
	if !ok {
		return false
	}
	o := f.object(Problem{File: ManifestFile}, data)
	if o == nil {
		return false
	}
	m.Format, m.Version = o.text("format", true), o.text("version", true)
	if len(f.found) > 0 || !o.ours(m.Format, m.Version) {
		return false
	}
	m.AgentID, m.CreatedAt = o.line("agent_id", maxRef, false), o.time("created_at")
	m.UnitSource, m.UnitRef = o.line("unit_source", maxName, true), o.line("unit_ref", maxRef, false)
	m.Foreign = o.rest()
	return true
}

// ours tells whether the format is this one, in a version of the same major number.
func (o *object) ours(format, version string) bool {
	major, minor, _ := strings.Cut(version, ".")
	ourMajor, _, _ := strings.Cut(Version, ".")
	switch {
	case format != Format:
		o.tell(o.at, "format is "+short(format), "this reads "+Format+" only; convert it with the program that wrote it")
	case !digits(major) || !digits(strings.ReplaceAll(minor, ".", "")):
		o.tell(o.at, "version "+short(version)+" is no version", "write it as "+Version)
	case major != ourMajor:
		o.tell(o.at, "version "+version+" has another major number than "+Version, "write it again as version "+ourMajor+".x, or read it with a newer program")
	default:
		return true
	}
	return false
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func (f *finder) snapshot(data []byte, s *Snapshot) {
	o := f.object(Problem{File: SnapshotFile}, data)
	if o == nil {
		return
	}
	list, _ := o.list("schema")
	for i, raw := range list {
		name := fmt.Sprintf("schema[%d]", i)
		slot, bad, ok := stringOf(raw)
		if !ok || bad != "" {
			o.tell(o.at, name+" is "+short(string(raw)), "write the name of a slot in quotes")
			continue
		}
		s.Schema = append(s.Schema, o.fits(name, slot, maxName, true))
	}
	s.BudgetTokens, s.TokenCount = o.count("budget_tokens"), o.count("token_count")
	if list, ok := o.list("entries"); ok {
		s.Entries = make([]Entry, 0, len(list))
		for i, raw := range list {
			s.Entries = append(s.Entries, f.entry(i, raw))
		}
	}
	s.Foreign = o.rest()
}

// list reads a list of at most MaxEntries values.
func (o *object) list(name string) ([]json.RawMessage, bool) {
	v := o.take(name, true)
	if v == nil {
		return nil, false
	}
	list, ok := elementsOf(v)
	if !ok {
		o.tell(o.at, name+" is "+short(string(v))+", not a list", "write it as a list in square brackets")
	} else if len(list) > MaxEntries {
		o.tell(o.at, fmt.Sprintf("%s has %d values", name, len(list)), fmt.Sprintf("keep it to %d: a bundle is a working set, not an archive", MaxEntries))
		ok = false
	}
	return list, ok
}

func (f *finder) entry(i int, raw []byte) (e Entry) {
	o := f.object(Problem{File: SnapshotFile, Entry: fmt.Sprintf("entries[%d]", i)}, raw)
	if o == nil {
		return e
	}
	if e.ID = o.line("id", maxName, true); e.ID != "" {
		o.at.Entry = e.ID
	}
	e.Slot, e.Content = o.line("slot", maxName, true), o.text("content", true)
	e.Tokens, e.Score = o.count("tokens"), o.number("score", true)
	e.Resolution = o.one("resolution", Full, Compressed, Pointer)
	e.UnitRef, e.CommittedAt = o.line("unit_ref", maxRef, false), o.time("committed_at")
	e.Foreign = o.rest()
	return e
}

// prose looks at snapshot.md, of which only the bytes matter: it is for people.
func (f *finder) prose(data []byte) {
	at := Problem{File: MirrorFile}
	if !utf8.Valid(data) {
		at.Line = lineAt(data, invalidAt(data))
		f.tell(at, "is not valid UTF-8", "write it again, or remove it: it is optional")
	} else if i := bytes.IndexByte(data, 0); i >= 0 {
		at.Line = lineAt(data, i)
		f.tell(at, "has a NUL byte", "write it again, or remove it: it is optional")
	}
}
