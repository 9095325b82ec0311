package compile_test

import (
	"bytes"
	"testing"

	"ctxfs/internal/context/compile"
	"ctxfs/internal/context/pack"
	"ctxfs/schema/schematest"
)

// schemas says which schema each file follows, or each of its lines.
func schemas() map[string]string {
	return map[string]string{"pack.v2.json": "context-pack.v2.schema.json", "compiler.json": "compiler-output.schema.json", "contextos.json": "contextos-context-pack.v2.schema.json",
		"channels/journal.jsonl": "channel-journal.schema.json", "channels/review.jsonl": "channel-review.schema.json", "channels/timeline.jsonl": "channel-timeline.schema.json",
		compile.ConstraintsFile: "constraints.schema.json", compile.PreferencesFile: "preferences.schema.json", compile.SuccessFile: "success.schema.json", compile.PlanFile: "plan.schema.json",
		compile.ToolsFile: "tools.schema.json", compile.PolicyFile: "policy.schema.json"}
}

func written(a compile.Authored) map[string][]byte {
	return map[string][]byte{compile.ConstraintsFile: a.Constraints, compile.PreferencesFile: a.Preferences, compile.SuccessFile: a.Success, compile.PlanFile: a.Plan,
		compile.ToolsFile: a.Tools, compile.PolicyFile: a.Policy}
}

// TestSchemas holds what is compiled to its schemas, and proves that these refuse: each record is broken in every way that its
// schema speaks of.
func TestSchemas(t *testing.T) {
	s := schematest.New(t)
	for _, in := range []compile.In{full(t, 8000), full(t, 300), input(t, session(t), pack.Input{Budget: 8000}), input(t, nil, pack.Input{Budget: 100})} {
		for file, data := range build(t, in) {
			if n := s.Holds(t, schemas()[file], data); n == 0 && in.Input.History.Len() > 0 {
				t.Errorf("%s is empty", file)
			}
		}
	}
	for file, data := range build(t, full(t, 8000)) {
		if n := s.Refuses(t, schemas()[file], schematest.Values(t, data)[0]); n < 8 {
			t.Errorf("%s: broken in %d ways only", file, n)
		}
	}
	for file, data := range written(authored(t)) {
		for _, v := range schematest.Values(t, data) {
			if err := s.Validate(t, schemas()[file], v); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
		s.Refuses(t, schemas()[file], schematest.Values(t, data)[0])
	}
}

// TestSchemasReach breaks what stands deeper: each change is one that a schema must see.
func TestSchemasReach(t *testing.T) {
	s, files := schematest.New(t), build(t, full(t, 8000))
	for _, x := range []struct{ file, old, new string }{
		{"pack.v2.json", `"memory_id": "f1"`, `"memory": "f1"`},
		{"pack.v2.json", `"decision_id": "d1"`, `"decision": "d1"`},
		{"pack.v2.json", `"severity": "blocking"`, `"severity": "awful"`},
		{"pack.v2.json", `"effect": "deny"`, `"effect": "forbid"`},
		{"pack.v2.json", `"origin": "authored"`, `"origin": "heaven"`},
		{"pack.v2.json", `"schema_version": "2.0"`, `"schema_version": "3.0"`},
		{"compiler.json", `"capability_class": "act"`, `"capability_class": "acts"`},
		{"compiler.json", `"risk_level": "write_reversible"`, `"risk_level": "write"`},
		{"compiler.json", `"approval_mode": "destructive"`, `"approval_mode": "sure"`},
		{"compiler.json", `"exposed": false`, `"exposed": true`}, // what is denied is not exposed
		{"compiler.json", `"context_snapshot_hash": "blake3-`, `"context_snapshot_hash": "md5-`},
		{"contextos.json", `"tone_and_comms"`, `"tone"`},
		{"contextos.json", `"pack_ref": "pack-`, `"pack_ref": "pack_`},
		{"contextos.json", `"deploy": "deny"`, `"deploy": "never"`},
		{"channels/review.jsonl", `"credibility":0.`, `"credibility":9.`},
		{"channels/journal.jsonl", `"kind":"run"`, `"kind":"walk"`},
		{"channels/timeline.jsonl", `"refs":["messages:1"]`, `"refs":"messages:1"`},
	} {
		if !bytes.Contains(files[x.file], []byte(x.old)) {
			t.Errorf("%s has no %s: nothing was tested", x.file, x.old)
			continue
		}
		refused := false
		for _, v := range schematest.Values(t, bytes.ReplaceAll(files[x.file], []byte(x.old), []byte(x.new))) {
			refused = refused || s.Validate(t, schemas()[x.file], v) != nil
		}
		if !refused {
			t.Errorf("%s: the schema takes %s", x.file, x.new)
		}
	}
}

// TestSchemasAgree holds the schemas of authored files against the parsers: whatever stands in one line, both say the same, but
// for what a schema cannot say.
func TestSchemasAgree(t *testing.T) {
	s := schematest.New(t)
	for _, x := range lines() {
		if x.beyond {
			continue
		}
		values := schematest.Values(t, []byte(x.data))
		refused := false
		for _, v := range values {
			refused = refused || s.Validate(t, schemas()[x.file], v) != nil
		}
		if refused != (x.want != "") {
			t.Errorf("%s: %s: the schema refuses it: %v, the parser: %q", x.file, x.data, refused, x.want)
		}
	}
	// Every combination of the three words of a tool.
	for _, c := range []string{"observe", "recall", "think_support", "verify", "act"} {
		for _, r := range []string{"read_safe", "read_sensitive", "write_reversible", "write_external", "write_irreversible"} {
			for _, a := range []string{"read_only", "local_write", "network", "delegated", "destructive"} {
				line := `{"name":"x","capability_class":"` + c + `","risk_level":"` + r + `","approval_mode":"` + a + `"}`
				_, parsed := compile.ParseTools([]byte(line))
				valid := s.Validate(t, "tools.schema.json", schematest.Values(t, []byte(line))[0])
				if (parsed == nil) != (valid == nil) {
					t.Errorf("%s: the parser says %v, the schema %v", line, parsed, valid)
				}
			}
		}
	}
}
