package session

import (
	"encoding/json"
	"errors"
	"strings"

	"ctxfs/internal/context/bundle"
	"ctxfs/internal/context/pack"
)

// Imported is the file that holds the working context that was imported into a session: the files of a bundle, by name, as
// one JSON object. Another one that is written to it is merged into it, in one step; importing the same again changes nothing.
const Imported = "context/imported.json"

// BundleNames lists context/bundle.
func BundleNames() []string {
	return []string{"lifecycle.jsonl", "manifest.json", "snapshot.json", "snapshot.md"}
}

// checkImported merges a bundle into what was imported before.
func checkImported(x *Session, data []byte, _ Caller) ([]byte, error) {
	b, err := parseImported(data)
	if err != nil {
		return nil, err
	}
	old, err := x.optional(Imported)
	if err != nil {
		return nil, err
	}
	var held *bundle.Bundle
	if len(old) > 0 {
		held, _ = parseImported(old) // one that was damaged past ctxfs is replaced
	}
	merged := bundle.Render(bundle.Merge(held, b))
	if found := bundle.Validate(merged); len(found) > 0 {
		return nil, refuse(Invalid, "%s: together with what was imported before: %s", Imported, found[0])
	}
	return packFiles(merged)
}

func storedBundle(_ *Session, data []byte) error {
	_, err := parseImported(data)
	return err
}

func packFiles(files map[string][]byte) ([]byte, error) {
	text := map[string]string{}
	for name, data := range files {
		text[name] = string(data)
	}
	out, err := json.Marshal(text)
	return append(out, '\n'), err
}

func parseImported(data []byte) (*bundle.Bundle, error) {
	return parseMasked(data, func(text string) string { return text })
}

// parseMasked parses what Imported holds; mask masks each file of the bundle as it stands there.
func parseMasked(data []byte, mask func(string) string) (*bundle.Bundle, error) {
	var text map[string]string
	if err := json.Unmarshal(data, &text); err != nil {
		return nil, refuse(Invalid, "%s: %v (ctxfs bundle import writes it)", Imported, err)
	}
	files := map[string][]byte{}
	for name, s := range text {
		files[name] = []byte(mask(s))
	}
	b, err := bundle.Parse(files)
	var found bundle.Problems
	if errors.As(err, &found) && len(found) > 0 {
		return nil, refuse(Invalid, "%s: %s", Imported, found[0])
	}
	return b, err
}

// imported gives the documents of what was imported: entries that are in force, one file a slot.
func (x *Session) imported() ([]pack.File, error) {
	b, err := x.heldBundle()
	if b == nil || err != nil {
		return nil, err
	}
	var out []pack.File
	for _, d := range bundle.Documents(b) {
		out = append(out, pack.File{Path: "context/imported/" + d.Name, Data: d.Text})
	}
	return out, nil
}

// heldBundle returns the bundle that the session imported; nil when there is none.
func (x *Session) heldBundle() (*bundle.Bundle, error) { return x.bundleBy(parseImported) }

// shownBundle is heldBundle without secrets; the fold is ready.
func (x *Session) shownBundle() (*bundle.Bundle, error) {
	return x.bundleBy(func(data []byte) (*bundle.Bundle, error) { return parseMasked(data, x.fold.masked) })
}

func (x *Session) bundleBy(parse func(data []byte) (*bundle.Bundle, error)) (*bundle.Bundle, error) {
	data, err := x.optional(Imported)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	b, err := parse(data)
	if err != nil {
		return nil, nil // damaged past ctxfs; verify tells
	}
	return b, nil
}

// ImportedNames lists context/imported.
func (x *Session) ImportedNames() (names []string, err error) {
	files, err := x.imported()
	for _, f := range files {
		names = append(names, strings.TrimPrefix(f.Path, "context/imported/"))
	}
	return names, err
}

func (x *Session) buildImported(name string) (view, error) {
	files, err := x.imported()
	for _, f := range files {
		if f.Path == "context/imported/"+name {
			return view{data: []byte(x.fold.masked(string(f.Data)))}, nil
		}
	}
	if err == nil {
		err = refuse(NotFound, "%s is not among what was imported", name)
	}
	return view{}, err
}

// buildBundle gives context/bundle/<name>: the working context that the pack is, with its lifecycle over all contexts that
// were declared shown to the model.
func (x *Session) buildBundle(name string) (view, error) {
	files, err := x.bundleFiles()
	if err != nil {
		return view{}, err
	}
	data, ok := files[name]
	if !ok {
		return view{}, refuse(NotFound, "%s is not in context/bundle", name)
	}
	return view{data: data}, nil
}

func (x *Session) bundleFiles() (map[string][]byte, error) {
	p, in, err := x.packFor(PackFile{})
	if err != nil {
		return nil, err
	}
	gen := x.generation("")
	if v, ok := x.cache["the bundle"]; ok && v.gen == gen {
		return v.bundle, nil
	}
	past, err := x.contexts()
	if err != nil {
		return nil, err
	}
	id, created, err := x.who()
	if err != nil {
		return nil, err
	}
	if !x.fold.newest.IsZero() {
		created = stamp(x.fold.newest.UTC())
	}
	entries, lines := bundle.History(past, x.contextOf(p, in, created))
	b := bundle.Make(bundle.Manifest{AgentID: id.Agent, CreatedAt: created, UnitSource: bundle.Files, UnitRef: id.ID}, in.Budget, entries, lines)
	held, err := x.shownBundle()
	if err != nil {
		return nil, err
	}
	if held != nil {
		b = bundle.Merge(held, b)
	}
	files := bundle.Render(b)
	x.keep("the bundle", view{gen: gen, bundle: files})
	return files, nil
}

func (x *Session) contextOf(p *pack.Pack, in pack.Input, created string) bundle.Context {
	c := bundle.From(p, in, created, x.fold.count)
	x.cite(&c, p, in)
	return c
}

// contexts reads what was shown to the model, in order. One whose bytes gc.policy let go of is left out.
func (x *Session) contexts() ([]bundle.Context, error) {
	list, err := x.injections()
	if err != nil {
		return nil, err
	}
	var out []bundle.Context
	last := ""
	for _, inj := range list {
		id, _ := inj.Metadata["entries"].(string)
		if id == "" || inj.ContextID == last {
			continue
		}
		last = inj.ContextID
		data, err := x.blob(id)
		var c bundle.Context
		if err == nil && json.Unmarshal(data, &c) == nil {
			out = append(out, c)
		}
	}
	return out, nil
}
