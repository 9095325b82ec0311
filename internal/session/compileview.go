package session

import (
	"errors"
	"path"
	"slices"
	"strings"

	"ctxfs/internal/context/compile"
	"ctxfs/internal/context/derive"
	"ctxfs/internal/context/pack"
)

// compiled are the files that the compiler makes beside the records of a trace.
func compiled() (inTrace, channels []string) {
	for _, name := range compile.Names() {
		if c, ok := strings.CutPrefix(name, "channels/"); ok {
			channels = append(channels, c)
		} else {
			inTrace = append(inTrace, name)
		}
	}
	return inTrace, channels
}

// ChannelNames lists context/channels.
func ChannelNames() []string {
	_, names := compiled()
	return names
}

// checkAuthored holds a file that agents and people write for the compiler to its form.
func checkAuthored(file string) func(*Session, []byte, Caller) ([]byte, error) {
	return func(_ *Session, data []byte, _ Caller) ([]byte, error) {
		err := compile.Check(file, data)
		var p *compile.Problem
		if errors.As(err, &p) {
			return nil, refuse(Invalid, "%v", p)
		}
		return data, err
	}
}

// isAuthored tells whether the compiler reads a file that agents and people write.
func isAuthored(name string) bool {
	switch name {
	case compile.ConstraintsFile, compile.PreferencesFile, compile.SuccessFile, compile.PlanFile, compile.ToolsFile, compile.PolicyFile:
		return true
	}
	return false
}

// shape reads the session's rules for packs: who may see what, and what is masked, which the fold knows.
func (x *Session) shape(in *pack.Input) error {
	data, err := x.optional(compile.PolicyFile)
	if err != nil {
		return err
	}
	if len(data) > 0 {
		in.Rules = append(in.Rules, pack.File{Path: compile.PolicyFile, Data: data})
		if policy, err := compile.ParsePolicy(data); err == nil { // else damaged past ctxfs: compiler.json tells
			in.Visibility = policy.Visibility
		}
	}
	if x.fold.own != "" {
		in.Rules = append(in.Rules, pack.File{Path: RedactFile, Data: []byte(x.fold.own)})
	}
	return nil
}

// buildCompiled gives one of the compiler's files.
func (x *Session) buildCompiled(name string) (view, error) {
	const key = "the compiler's"
	gen := x.generation("context/trace/")
	out := x.cache[key].compiled
	if out == nil || x.cache[key].gen != gen {
		ci, err := x.compileIn()
		if err != nil {
			return view{}, err
		}
		if out, err = compile.Build(ci); err != nil {
			return view{}, err
		}
		x.keep(key, view{gen: gen, compiled: out})
	}
	if !slices.Contains(compile.Names(), name) {
		return view{}, refuse(NotFound, "%s is not made by the compiler", name)
	}
	return view{data: out.File(name)}, nil
}

// compileIn gathers what the compiler's files are a function of: what the trace is, and what agents and people wrote.
func (x *Session) compileIn() (compile.In, error) {
	t, ti, err := x.traceOf(PackFile{})
	if err != nil {
		return compile.In{}, err
	}
	ci, err := compile.Of(ti, t)
	if err != nil {
		return ci, err
	}
	ci.Count, ci.Mask, ci.Records = x.fold.count, x.fold.mask, x.fold.work.Masked(x.fold)
	ci.Events, ci.FirstEvent = x.past.lines, x.past.count-len(x.past.lines)+1
	state, err := x.optional("state")
	if err != nil {
		return ci, err
	}
	ci.State = strings.TrimSpace(string(state))
	for _, f := range []struct {
		name string
		to   *[]byte
	}{{compile.ConstraintsFile, &ci.Authored.Constraints}, {compile.PreferencesFile, &ci.Authored.Preferences}, {compile.SuccessFile, &ci.Authored.Success},
		{compile.PlanFile, &ci.Authored.Plan}, {compile.ToolsFile, &ci.Authored.Tools}, {compile.PolicyFile, &ci.Authored.Policy}} {
		if *f.to, err = x.optional(f.name); err != nil {
			return ci, err
		}
	}
	for _, f := range []struct {
		name     string
		authored []byte
		to       *[]byte
	}{{"facts.jsonl", ti.Input.Authored.Facts, &ci.Facts}, {"decisions.jsonl", ti.Input.Authored.Decisions, &ci.Decisions}, {"todo.md", ti.Input.Authored.Todo, &ci.Todo}, {"refs.jsonl", ti.Input.Authored.Refs, &ci.Refs}} {
		if *f.to = f.authored; f.authored == nil {
			if *f.to, err = x.fold.work.Derived(x.fold, derive.Kind(path.Base(f.name))); err != nil {
				return ci, err
			}
		}
	}
	return ci, nil
}
