package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"ctxfs/internal/cas"
	"ctxfs/internal/context/derive"
	"ctxfs/internal/context/pack"
	"ctxfs/internal/context/trace"
	"ctxfs/internal/swap"
)

// Injections is the file in which it is declared that a context, or a file of the session, was shown to somebody.
const Injections = "context/injections.jsonl"

// declared is what a line of Injections may say; ctxfs adds the rest (Agent Context, "Assembly and injection").
type declared struct {
	Target     string         `json:"target"`
	Point      string         `json:"injection_point"`
	File       string         `json:"file"` // context/pack.md, another pack, or a file of the session
	NativeID   string         `json:"native_id"`
	Visibility []string       `json:"visibility"`
	Metadata   map[string]any `json:"metadata"`
}

// How many injections one write may declare, since each is a pack that is built and kept on disk; and how long a line may be.
const (
	maxDeclared     = 100
	maxDeclaredLine = 64 << 10
)

// checkInjections completes what is declared: which context it was, by the present state of the session, and where its exact
// bytes are kept.
func checkInjections(x *Session, data []byte, _ Caller) ([]byte, error) {
	old, lines, err := x.grown(Injections, data)
	if err != nil {
		return nil, err
	}
	out := bytes.NewBuffer(old)
	x.told = true
	made := 0
	for i, line := range lines {
		if len(line) > maxDeclaredLine {
			return nil, refuse(Invalid, "%s: a line has at most %d bytes", Injections, maxDeclaredLine)
		}
		d := declared{Target: pack.TargetModel, Point: "message_history"}
		if err := readLine(Injections, line, &d); err != nil {
			return nil, err
		}
		if err := d.check(); err != nil {
			return nil, err
		}
		if whole, err := x.restored(line); err != nil {
			return nil, err
		} else if whole {
			out.Write(append(line[:len(line):len(line)], '\n'))
			continue
		}
		if made++; made > maxDeclared {
			return nil, refuse(Invalid, "%s: at most %d are declared by one write", Injections, maxDeclared)
		}
		inj, err := x.inject(d, bytes.Count(old, []byte{'\n'})+i)
		if err != nil {
			return nil, err
		}
		x.told = false
		out.Write(swap.Line(inj))
	}
	return out.Bytes(), nil
}

// restored tells whether a line is a whole record already, of a session that is being restored: what it showed is kept.
func (x *Session) restored(line []byte) (bool, error) {
	var inj trace.Injection
	if err := readLine(Injections, line, &inj); err != nil || inj.InjectionID == "" {
		return false, err
	}
	if inj.ContextID == "" || inj.AssemblyID == "" || inj.Hash == "" || inj.CreatedAt == "" {
		return false, refuse(Invalid, "%s: an injection_id is given by ctxfs, to a line that has none", Injections)
	}
	if _, err := x.blob(inj.Hash); err != nil {
		return false, refuse(Invalid, "%s: the bytes of %.40q are not here: %v", Injections, inj.InjectionID, err)
	}
	return true, nil
}

// InjectionTargets returns the targets that an injection can have (Agent Context).
func InjectionTargets() []string {
	return []string{"model", "tool", "runtime", "ui", "user", "reviewer", "peer_agent", "evidence_export"}
}

// InjectionPoints returns the injection points that an injection can have.
func InjectionPoints() []string {
	return []string{"system_prompt", "developer_prompt", "message_history", "user_message_appendix", "tool_argument",
		"tool_visible_resource", "runtime_metadata", "ui_panel", "review_export", "peer_agent_message", "artifact_input", "custom"}
}

func (d *declared) check() error {
	targets := InjectionTargets()
	if err := oneOf(Injections, "target", d.Target, targets...); err != nil {
		return err
	}
	for _, v := range d.Visibility {
		if err := oneOf(Injections, "visibility", v, targets...); err != nil {
			return err
		}
	}
	return oneOf(Injections, "injection_point", d.Point, InjectionPoints()...)
}

// inject makes the record of an injection, the nth of the session, and keeps what was shown.
func (x *Session) inject(d declared, n int) (*trace.Injection, error) {
	var inj *trace.Injection
	var keep [][]byte
	err := x.folded(func() (err error) {
		inj, keep, err = x.shown(d)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := x.keepBlobs(keep); err != nil {
		return nil, err
	}
	inj.CreatedAt = stamp(x.store.opt.Now().UTC())
	inj.InjectionID = trace.InjectionID(inj.ContextID, inj.AssemblyID, strconv.Itoa(n))
	inj.Target, inj.Point, inj.NativeID, inj.Visibility = d.Target, d.Point, d.NativeID, d.Visibility
	if inj.Visibility == nil {
		inj.Visibility = []string{d.Target}
	}
	for k, v := range d.Metadata {
		if _, taken := inj.Metadata[k]; !taken {
			inj.Metadata[k] = v
		}
	}
	return inj, nil
}

// shown tells what the declared file holds now, as an injection, and the bytes to be kept; mu is held and the fold is ready.
func (x *Session) shown(d declared) (*trace.Injection, [][]byte, error) {
	target := d.Target
	f, isPack := PackName(fileOf(d.File))
	if isPack && f.Target != "" {
		target = f.Target
	}
	if isPack && f.Target == "" && knownTarget(d.Target) && d.Target != pack.TargetModel {
		f.Target = d.Target // what is shown to a tool is the tool's pack
	}
	p, in, err := x.packFor(f)
	if err != nil {
		return nil, nil, err
	}
	id, err := x.id()
	if err != nil {
		return nil, nil, err
	}
	ctx := trace.ContextID(id, targetName(in.Target), p, in)
	inj := &trace.Injection{ContextID: ctx, AssemblyID: trace.AssemblyID(ctx, targetName(in.Target)), Metadata: map[string]any{"tokens": p.Tokens}}
	show, keep := p.Markdown, [][]byte{p.JSON}
	if isPack && in.Target == "" { // what the bundle's lifecycle is told from
		entries, err := json.Marshal(x.contextOf(p, in, stamp(x.store.opt.Now().UTC())))
		if err != nil {
			return nil, nil, err
		}
		keep = append(keep, entries)
		inj.Metadata["entries"] = cas.Sum(entries).String()
	}
	f.JSON = false
	inj.Metadata["file"] = "context/" + f.Name()
	inj.Metadata["pack_json"] = cas.Sum(p.JSON).String()
	if !isPack {
		if show, err = x.sessionFile(d.File); err != nil {
			return nil, nil, err
		}
		inj.Metadata["file"] = d.File
		inj.AssemblyID = trace.ShownID(ctx, target, cas.Sum(show).String())
	}
	inj.Hash = cas.Sum(show).String()
	inj.FinalRef = inj.Hash
	return inj, append(keep, show), nil
}

func knownTarget(t string) bool {
	return t == pack.TargetTool || t == pack.TargetReviewer || t == pack.TargetUser
}

func targetName(t string) string {
	if t == "" {
		return pack.TargetModel
	}
	return t
}

// fileOf is the name of a pack in context/, "" for another file; nothing is the pack.
func fileOf(file string) string {
	if file == "" {
		return "pack.md"
	}
	name, ok := strings.CutPrefix(file, "context/")
	if !ok {
		return ""
	}
	return name
}

// sessionFile reads a file of the session that an injection names: a plain file or a generated one, no log.
func (x *Session) sessionFile(name string) ([]byte, error) {
	if name == Messages || name == Events || climbs("/"+name) || len(name) > 4096 {
		return nil, refuse(Invalid, "%s: %.80q is no file that can be shown as a whole", Injections, name)
	}
	if v, err := x.built(name); err == nil {
		return v.data, nil
	}
	data, err := x.readFile(name)
	if err != nil && Derived(name) {
		data, err = x.fold.work.Derived(x.fold, derive.Kind(path.Base(name)))
	}
	if err != nil {
		return nil, refuse(Invalid, "%s: %.80q is not there", Injections, name)
	}
	return data, nil
}

// keepBlobs puts bytes into the owner's cold store, on disk.
func (x *Session) keepBlobs(list [][]byte) error {
	cold, err := x.store.writeCold(OwnerRel(x.rel()))
	if err != nil {
		return err
	}
	for _, data := range list {
		if _, err := cold.Put(data); err != nil {
			return fmt.Errorf("keep what was shown: %w", errors.Join(err, cold.Close()))
		}
	}
	return cold.Close()
}

// maxKept is the largest file that KeepFile takes, in bytes.
const maxKept = 64 << 20

// KeepFile moves a temporary file of the session's folder, BlobPrefix and a name, into the owner's blobs: a picture, before the
// record that names it by its hash.
func (x *Session) KeepFile(name string) error {
	if !strings.HasPrefix(name, BlobPrefix) || strings.Contains(name, "/") {
		return refuse(Invalid, "only a file %s... can be kept as a blob, not %.40q", BlobPrefix, name)
	}
	data, err := x.store.dir.ReadFile(x.file(name), maxKept)
	if err != nil {
		return err
	}
	if err := x.keepBlobs([][]byte{data}); err != nil {
		return err
	}
	return x.store.dir.Unlink(x.file(name))
}

// BlobPrefix starts the names of files that KeepFile takes.
const BlobPrefix = ".blob-"

// blob reads a blob of the session's owner.
func (x *Session) blob(id string) ([]byte, error) {
	sum, err := cas.Parse(id)
	if err != nil {
		return nil, refuse(NotFound, "%v", err)
	}
	cold, err := x.store.cold(OwnerRel(x.rel()))
	if err != nil {
		return nil, err
	}
	return cold.Get(sum)
}

// injections reads what was declared so far.
func (x *Session) injections() ([]trace.Injection, error) {
	data, err := x.optional(Injections)
	return parseInjections(data), err
}

// parseInjections returns the records of a file of injections.
func parseInjections(data []byte) (out []trace.Injection) {
	for _, line := range bytes.Split(data, []byte{'\n'}) {
		var inj trace.Injection
		if len(line) > 0 && json.Unmarshal(line, &inj) == nil && inj.InjectionID != "" { // one that was damaged past ctxfs hides no other
			out = append(out, inj)
		}
	}
	return out
}
