package schema_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ctxfs/schema/schematest"
)

// TestSchemasAreSchemas compiles each schema, which holds it to the metaschema of 2020-12, and their references to each other.
func TestSchemasAreSchemas(t *testing.T) {
	s := schematest.New(t)
	for _, name := range schematest.Names(t) {
		if err := s.Validate(t, name, 17.5); err == nil && !strings.Contains(name, "common") {
			t.Errorf("%s takes a number", name)
		}
	}
}

// TestSpecificationExamples holds the examples of the specifications to the schemas, as they are printed there.
func TestSpecificationExamples(t *testing.T) {
	s := schematest.New(t)
	for _, x := range []struct{ name, good string }{
		{"agentcontext-context-envelope.schema.json", `{"schema_version":"0.1.0","context_id":"ctx_turn_01HZ","scope":"turn","lifecycle":"injected","runtime_refs":[{"kind":"turn","id":"turn_42"}],
			"surface_refs":["surface_turn_42"],"item_refs":["item_user_1"],"selection_refs":["selection_turn_42"],"budget_ref":"budget_turn_42","assembly_refs":["assembly_model_42"],
			"injection_refs":["inject_system_prompt_42"],"created_at":"2026-05-08T00:00:00Z"}`},
		{"agentcontext-selection.schema.json", `{"selection_id":"selection_memory_prefetch_7","surface_id":"surface_turn_7","query":"q","candidate_item_refs":[],"selected_item_refs":["wm_progress"],
			"omitted_item_refs":[{"item_ref":"old_task_log","reason":"superseded_by_summary"}],"ranking_signals":{"wm_progress":{"relevance":0.92}},"created_at":"2026-05-08T00:00:00Z"}`},
		{"agentcontext-context-item.schema.json", `{"item_id":"item_knowledge_pricing_claim","context_kind":"knowledge_pack_item","title":"Approved pricing claim","content_mode":"ref",
			"content_ref":"knowledge://acme-product/compiled/pricing#claim-12","source_refs":[{"source_id":"source_pricing_doc","uri":"knowledge://acme-product/documents/pricing.md",
			"selector":{"type":"text_position","start":1204,"end":1388},"digest":"sha256:example"}],"visibility":["model","reviewer"],"trust_level":"official","token_estimate":78}`},
		{"agentcontext-compaction.schema.json", `{"compaction_id":"compact_session_12","scope":"session","source_item_refs":["turn_1"],"summary_ref":"summary_session_12","method":"rolling_summary",
			"trigger":"token_pressure","coverage":{"items_covered":4},"loss_notes":["x"],"validation":{"status":"reviewed","reviewer":"agent"},
			"replacement_policy":"summary_replaces_source_until_review_requested","created_at":"2026-05-08T00:00:00Z"}`},
		{"agentcontext-missing-context.schema.json", `{"missing_id":"missing_customer_pdf","scope":"turn","question":"q","needed_for":"n","severity":"blocking",
			"candidate_sources":[{"kind":"file","hint":"customer agreement PDF"}],"blocked_actions":["final_answer"],"requested_from":"user","status":"requested","created_at":"2026-05-08T00:00:00Z"}`},
		{"bundle-manifest.schema.json", `{"format":"artesian.working-context","version":"0.1","created_at":"2026-06-21T08:30:00Z","unit_source":"inline"}`},
		{"bundle-snapshot.schema.json", `{"schema":["decision","constraint","fact","task-state"],"budget_tokens":4096,"token_count":7,"entries":[{"id":"a","slot":"decision",
			"content":"ship the working-context bundle first","tokens":7,"score":1.0,"resolution":"full","committed_at":"2026-06-21T08:30:00Z"}]}`},
		{"bundle-lifecycle.schema.json", `{"ts":"2026-06-21T08:30:00Z","entry_id":"a","decision":"commit","status":"active","reason":{"relevance":0.9,"novelty":0.5,"drift":0.0}}`},
	} {
		if n := s.Holds(t, x.name, []byte(x.good)); n != 1 {
			t.Errorf("%s: %d records", x.name, n)
		}
		if n := s.Refuses(t, x.name, schematest.Values(t, []byte(x.good))[0]); n < 5 {
			t.Errorf("%s: broken in %d ways only", x.name, n)
		}
	}
}

// TestWrongWords holds the enumerations and the rules between members: each record is good but for one thing.
func TestWrongWords(t *testing.T) {
	s := schematest.New(t)
	for _, x := range []struct{ name, bad string }{
		{"agentcontext-context-envelope", `{"schema_version":"0.1.0","context_id":"c","scope":"turns","lifecycle":"draft","created_at":"2026-05-08T00:00:00Z"}`},
		{"agentcontext-context-envelope", `{"schema_version":"0.1.0","context_id":"c","scope":"turn","lifecycle":"done","created_at":"2026-05-08T00:00:00Z"}`},
		{"agentcontext-context-envelope", `{"schema_version":"0.1.0","context_id":"c","scope":"turn","lifecycle":"draft","created_at":"yesterday"}`},
		{"agentcontext-context-surface", `{"surface_id":"s","surface_kind":"surface","scope":"turn","created_at":"2026-05-08T00:00:00Z"}`},
		{"agentcontext-context-item", `{"item_id":"i","context_kind":"message","content_mode":"ref","content_ref":"a","visibility":[]}`},
		{"agentcontext-context-item", `{"item_id":"i","context_kind":"custom","content_mode":"ref","visibility":[]}`},
		{"agentcontext-context-item", `{"item_id":"i","context_kind":"custom","content_mode":"inline","visibility":[]}`},
		{"agentcontext-context-item", `{"item_id":"i","context_kind":"custom","content_mode":"opaque","visibility":["world"]}`},
		{"agentcontext-source-ref", `{"source_id":"s","uri":"u","selector":{"type":"line_range","start":0,"end":2}}`},
		{"agentcontext-source-ref", `{"source_id":"s","uri":"u","selector":{"type":"lines","start":1,"end":2}}`},
		{"agentcontext-source-ref", `{"source_id":"s","uri":"u","selectors":[{"type":"FragmentSelector"}]}`},
		{"agentcontext-selection", `{"selection_id":"s","surface_id":"u","candidate_item_refs":[],"selected_item_refs":[],"omitted_item_refs":[{"item_ref":"i","reason":"boring"}]}`},
		{"agentcontext-selection", `{"selection_id":"s","surface_id":"u","candidate_item_refs":[],"selected_item_refs":[],"omitted_item_refs":[{"item_ref":"i","reason":"custom"}]}`},
		{"agentcontext-budget", `{"budget_id":"b","target":"model","actual_tokens":1,"overflow_strategy":"drop"}`},
		{"agentcontext-budget", `{"budget_id":"b","target":"models","actual_tokens":1,"overflow_strategy":"reject"}`},
		{"agentcontext-window", `{"window_id":"w","target":"model","segments":[{"segment_id":"s","role":"r","order":-1}]}`},
		{"agentcontext-assembly", `{"assembly_id":"a","target":"model","ordered_blocks":[{"block_id":"b","item_refs":[],"position":0,"redaction_state":"hidden"}]}`},
		{"agentcontext-injection", `{"injection_id":"i","assembly_id":"a","target":"model","injection_point":"prompt","created_at":"2026-05-08T00:00:00Z"}`},
		{"agentcontext-compaction", `{"compaction_id":"c","scope":"session","source_item_refs":[],"summary_ref":"s","method":"magic","coverage":{},"loss_notes":[],"replacement_policy":"p"}`},
		{"agentcontext-compaction", `{"compaction_id":"c","scope":"session","source_item_refs":[],"summary_ref":"s","method":"custom","coverage":{},"loss_notes":[],"replacement_policy":"p","trigger":"whim"}`},
		{"agentcontext-summary", `{"summary_id":"s","summary_kind":"extractive","source_item_refs":[]}`},
		{"agentcontext-missing-context", `{"missing_id":"m","question":"q","severity":"huge","status":"open"}`},
		{"agentcontext-missing-context", `{"missing_id":"m","question":"q","severity":"low","status":"gone"}`},
		{"agentcontext-redaction", `{"redaction_state":"black","redaction_method":"rule:x","redacted_fields":["content"]}`},
		{"agentcontext-event", `{"specversion":"0.3","id":"e","source":"s","type":"context.exported"}`},
		{"agentcontext-event", `{"specversion":"1.0","id":"e","source":"s","type":"context.invented"}`},
		{"bundle-manifest", `{"format":"another","version":"0.1","created_at":"2026-06-21T08:30:00Z","unit_source":"inline"}`},
		{"bundle-manifest", `{"format":"artesian.working-context","version":"1.0","created_at":"2026-06-21T08:30:00Z","unit_source":"inline"}`},
		{"bundle-snapshot", `{"schema":["a"],"budget_tokens":1,"token_count":1,"entries":[{"id":"a","slot":"a","content":"","tokens":1,"score":1,"resolution":"full","committed_at":"2026-06-21T08:30:00Z"}]}`},
		{"bundle-lifecycle", `{"ts":"2026-06-21T08:30:00Z","entry_id":"a","decision":"forget","status":"active"}`},
		{"bundle-lifecycle", `{"ts":"2026-06-21T08:30:00Z","entry_id":"a","decision":"commit","status":"maybe"}`},
	} {
		if s.Validate(t, x.name+".schema.json", schematest.Values(t, []byte(x.bad))[0]) == nil {
			t.Errorf("%s takes %s", x.name, x.bad)
		}
	}
}

// TestBundles holds the bundles that the bundle's own tests read and write to its schemas.
func TestBundles(t *testing.T) {
	s, n := schematest.New(t), 0
	for _, dir := range []string{"rich", "rich-rendered", "tiny-rendered"} {
		for file, name := range map[string]string{"manifest.json": "bundle-manifest", "snapshot.json": "bundle-snapshot", "lifecycle.jsonl": "bundle-lifecycle"} {
			data, err := os.ReadFile(filepath.Join("..", "internal", "context", "bundle", "testdata", dir, file))
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range schematest.Values(t, data) {
				n++
				if err := s.Validate(t, name+".schema.json", v); err != nil {
					t.Errorf("%s/%s: %v", dir, file, err)
				}
			}
		}
	}
	if n < 9 {
		t.Errorf("%d records", n)
	}
}
