package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	"ctxfs/internal/record"
)

// MaxControl is the largest control file or agent-written derived file, in bytes: 16 MiB.
const MaxControl = 16 << 20

// control is a small file that programs and people write whole. Its content is checked before it replaces the old.
type control struct {
	initial string // what stands in it until it is written
	// check gives the bytes to keep for data, or why data may not stand in the file.
	check func(x *Session, data []byte, by Caller) ([]byte, error)
	// stored tells what is wrong with what stands in the file; nil: check does. Of files that are completed as they are written.
	stored func(x *Session, data []byte) error
	line   bool // its content is complete with a '\n': a write that ends so is checked at once
	most   int  // bytes; 0: MaxControl. Of files that are taken apart whole whenever they are read
}

// fits tells of more bytes than the file takes.
func (c control) fits(name string, n int) error {
	most := c.most
	if most == 0 {
		most = MaxControl
	}
	if n > most {
		return refuse(TooLarge, "%s takes at most %d bytes", name, most)
	}
	return nil
}

// control gives the rules of the file name, a path relative to the session.
func (x *Session) control(name string) (control, bool) {
	if isAuthored(name) {
		return control{check: checkAuthored(name), line: strings.HasSuffix(name, ".jsonl")}, true
	}
	switch name {
	case "state":
		return control{initial: "idle\n", check: checkState, line: true}, true
	case "cwd":
		return control{initial: "/\n", check: checkCWD, line: true}, true
	case "meta.json":
		return control{initial: "{}\n", check: checkMeta, most: maxMeta}, true
	case "context/budget":
		return control{check: checkBudget, line: true}, true
	case Injections:
		return control{check: checkInjections, stored: storedLines, line: true}, true
	case Imported:
		return control{check: checkImported, stored: storedBundle}, true
	case RedactFile:
		return control{check: checkRedact, line: true}, true
	case MissingFile:
		return control{check: checkMissing, stored: storedLines, line: true, most: 4 << 20}, true
	case "context/gc.policy":
		return control{check: checkPolicy, line: true}, true
	case "context/summary.md", "context/todo.md":
		return control{check: keepAsIs}, true
	case "context/facts.jsonl", "context/decisions.jsonl", "context/refs.jsonl":
		return control{check: checkLines, line: true}, true
	}
	return control{}, false
}

// Derived tells whether the file is derived from the log until an agent writes it.
func Derived(name string) bool {
	switch name {
	case "context/summary.md", "context/todo.md", "context/facts.jsonl", "context/decisions.jsonl", "context/refs.jsonl":
		return true
	}
	return false
}

// ReadControl gives what stands in a control file now.
func (x *Session) ReadControl(name string) ([]byte, error) {
	ctl, ok := x.control(name)
	if !ok {
		return nil, refuse(NotFound, "%s is not a control file", name)
	}
	data, err := x.readFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && Derived(name):
		return x.derived(name)
	case errors.Is(err, fs.ErrNotExist):
		data, err = []byte(ctl.initial), nil
	}
	if err == nil && name == "meta.json" {
		return x.showMeta(data)
	}
	return data, err
}

// Written tells whether a control file was written, and is not what ctxfs itself shows there.
func (x *Session) Written(name string) bool { return x.store.exists(x.file(name)) }

// CheckControl tells whether data, as far as it was written, can become the content of a control file. done tells
// that no more will come; without it only what is complete is judged.
func (x *Session) CheckControl(name string, data []byte, by Caller, done bool) error {
	ctl, ok := x.control(name)
	if !ok {
		return refuse(NotFound, "%s is not a control file", name)
	}
	if err := ctl.fits(name, len(data)); err != nil {
		return err
	}
	if !done && (!ctl.line || !bytes.HasSuffix(data, []byte{'\n'})) {
		return nil
	}
	if ctl.stored != nil {
		return ctl.stored(x, data)
	}
	_, err := ctl.check(x, data, by)
	return err
}

// Complete tells whether data needs nothing more to stand in the file, or can never stand there: writers are told at
// once, since many do not look at what close(2) returns.
func (x *Session) Complete(name string, data []byte) bool {
	ctl, _ := x.control(name)
	if name == "meta.json" {
		return bytes.HasSuffix(data, []byte{'\n'}) && !cutShort(data)
	}
	return ctl.line && bytes.HasSuffix(data, []byte{'\n'})
}

// cutShort tells whether data is the beginning of a JSON value that goes on.
func cutShort(data []byte) bool {
	var v json.RawMessage
	err := json.NewDecoder(bytes.NewReader(data)).Decode(&v)
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

// Change is how ChangeControl changes a control file.
type Change struct {
	Append bool   // add the bytes to the file's content
	Intent Intent // nil: nobody records the change
}

// Intent records a change of a control file, so that the process after a crash knows whether it was made. The lock that
// orders the changes of the session's control files is held during both calls.
type Intent interface {
	// Begin records that content is about to become the file's content.
	Begin(content []byte)
	// End records whether it did.
	End(made bool)
}

// WriteControl checks data and puts it in the place of the old content, in one step.
func (x *Session) WriteControl(name string, data []byte, by Caller) error {
	return x.ChangeControl(name, data, by, Change{})
}

// AppendControl adds whole lines to a control file in one step: two that append at a time both get in.
func (x *Session) AppendControl(name string, lines []byte, by Caller) error {
	return x.ChangeControl(name, lines, by, Change{Append: true})
}

// ChangeControl checks what data makes of a control file, and makes that its content in one step. After an error the old
// content stays, except when only its durability failed.
func (x *Session) ChangeControl(name string, data []byte, by Caller, c Change) error {
	ctl, ok := x.control(name)
	if !ok {
		return refuse(NotFound, "%s is not a control file", name)
	}
	if err := ctl.fits(name, len(data)); err != nil {
		return err
	}
	x.ctlMu.Lock()
	defer x.ctlMu.Unlock()
	var old []byte
	var err error
	if c.Append {
		if old, err = x.ReadControl(name); err != nil {
			return err
		}
		data = append(old[:len(old):len(old)], data...)
	} else {
		old, _ = x.store.dir.ReadFile(x.file(name), MaxControl) // only to tell of a change
	}
	keep, err := ctl.check(x, data, by)
	if err != nil {
		return err
	}
	if err := ctl.fits(name, len(keep)); err != nil {
		return err
	}
	if err := x.replace(name, keep, c.Intent); err != nil {
		return err
	}
	x.controlChanged(name, old, keep)
	return nil
}

// replace is put with a record of its intent, which may be nil.
func (x *Session) replace(name string, data []byte, intent Intent) error {
	if intent == nil {
		return x.put(name, data)
	}
	intent.Begin(data)
	err := x.put(name, data)
	made := err == nil
	if err != nil { // it may have failed after the rename
		now, rerr := x.StoredControl(name)
		made = rerr == nil && bytes.Equal(now, data)
	}
	intent.End(made)
	return err
}

// StoredControl returns the bytes of a control file in the store, which are nil while it was not written.
func (x *Session) StoredControl(name string) ([]byte, error) {
	data, err := x.readFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// SyncControl returns when the name of a control file's content is durable.
func (x *Session) SyncControl(name string) error {
	return x.steady(func() error { return x.store.dir.Sync(path.Dir(x.file(name))) })
}

// put replaces a file of the session.
func (x *Session) put(name string, data []byte) error {
	own, perm, err := x.owner()
	if err != nil {
		return err
	}
	if strings.HasPrefix(name, "context/") {
		if err := x.store.MakeDirs(x.file("context"), Caller{UID: uint32(own.UID), GID: uint32(own.GID)}); err != nil {
			return err
		}
	}
	if err := x.store.Room(x.rel(), int64(len(data)), 1); err != nil {
		return err
	}
	return x.store.dir.WriteFile(x.file(name), data, perm, own)
}

// RemoveControl takes a written control file away: what ctxfs itself shows there comes back.
func (x *Session) RemoveControl(name string) error {
	x.ctlMu.Lock()
	defer x.ctlMu.Unlock()
	if name == "meta.json" || name == "state" || name == "cwd" {
		return refuse(NotPermitted, "%s is part of every session", name)
	}
	if name == Injections || name == MissingFile {
		return refuse(NotPermitted, "%s only grows", name)
	}
	if err := x.store.dir.Unlink(x.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	x.controlChanged(name, nil, nil)
	return nil
}

// controlChanged does what follows from a change.
func (x *Session) controlChanged(name string, old, now []byte) {
	x.Touch()
	if (name == Injections || name == MissingFile) && !x.told {
		x.tell(name, old, now)
	}
	if name == "state" && string(old) != string(now) {
		_ = x.Event("ctxfs.session.state", map[string]any{"from": trimmed(old, "idle"), "to": trimmed(now, "")}) // the change itself is done
	}
}

func trimmed(b []byte, none string) string {
	if s := strings.TrimSpace(string(b)); s != "" {
		return s
	}
	return none
}

func checkState(_ *Session, data []byte, _ Caller) ([]byte, error) {
	switch s := strings.TrimSpace(string(data)); s {
	case "active", "idle", "done", "error":
		return []byte(s + "\n"), nil
	default:
		return nil, refuse(Invalid, "state is one of active, idle, done, error; not %.20q", s)
	}
}

func keepAsIs(_ *Session, data []byte, _ Caller) ([]byte, error) { return data, nil }

// checkLines holds an agent's facts, decisions and refs to JSON lines.
func checkLines(_ *Session, data []byte, _ Caller) ([]byte, error) {
	n := 0
	for line := range bytes.Lines(data) {
		if n++; record.Check(line) != nil {
			return nil, refuse(Invalid, "line %d is not a JSON object", n)
		}
	}
	if len(data) > 0 && !bytes.HasSuffix(data, []byte{'\n'}) {
		data = append(data[:len(data):len(data)], '\n')
	}
	return data, nil
}

// PutPlain writes a plain file, at a path in the store, that belongs to the session's owner.
func (x *Session) PutPlain(rel string, data []byte) error {
	own, perm, err := x.owner()
	if err != nil {
		return err
	}
	defer x.Touch()
	return x.store.dir.WriteFile(rel, data, perm, own)
}
