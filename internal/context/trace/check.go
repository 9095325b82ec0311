package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Problem is a reference of a trace that leads nowhere, or a record that cannot be read.
type Problem struct{ File, Text string }

// checker walks the references of a trace.
type checker struct {
	ids      map[string]map[string]bool // by kind of record
	problems []Problem
	file     string
}

// Check walks all references of a trace: those between its records, and those to files, which exists is asked about by their
// path in the session.
func Check(files map[string][]byte, exists func(path string) bool) []Problem {
	c := &checker{ids: map[string]map[string]bool{}}
	docs := map[string][]map[string]any{}
	for _, name := range Names() {
		c.file = name
		docs[name] = c.parse(files[name])
	}
	for name, key := range idKeys() {
		c.ids[key] = map[string]bool{}
		for _, d := range docs[name] {
			c.define(name, key, d)
		}
	}
	for _, name := range Names() {
		c.file = name
		for _, d := range docs[name] {
			c.walk(d, exists)
		}
	}
	return c.problems
}

// idKeys says which member names the records of each file.
func idKeys() map[string]string {
	return map[string]string{"envelope.json": "context_id", "surface.json": "surface_id", "items.jsonl": "item_id", "sources.jsonl": "source_id",
		"selection.json": "selection_id", "budget.json": "budget_id", "window.json": "window_id", "assembly.json": "assembly_id", "injections.jsonl": "injection_id",
		"compactions.jsonl": "compaction_id", "summary.json": "summary_id", "missing.jsonl": "missing_id", "redactions.jsonl": "redaction_id", "events.jsonl": "id"}
}

func (c *checker) bad(format string, args ...any) {
	c.problems = append(c.problems, Problem{c.file, fmt.Sprintf(format, args...)})
}

func (c *checker) parse(data []byte) (out []map[string]any) {
	for dec := json.NewDecoder(bytes.NewReader(data)); dec.More(); {
		var v map[string]any
		if err := dec.Decode(&v); err != nil {
			c.bad("%v", err)
			break
		}
		out = append(out, v)
	}
	return out
}

// define notes the id of a record, and those of what it holds.
func (c *checker) define(file, key string, d map[string]any) {
	c.file = file
	id, _ := d[key].(string)
	if id == "" {
		c.bad("a record without %s", key)
	}
	if c.ids[key][id] && key != "missing_id" {
		c.bad("%s %s stands twice", key, id)
	}
	c.ids[key][id] = true
	for member, inner := range map[string]string{"segments": "segment_id", "ordered_blocks": "block_id"} {
		for _, x := range objects(d[member]) {
			if c.ids[inner] == nil {
				c.ids[inner] = map[string]bool{}
			}
			c.ids[inner][fmt.Sprint(x[inner])] = true
		}
	}
	if meta, ok := d["metadata"].(map[string]any); ok {
		for _, x := range objects(meta["other_assemblies"]) {
			c.define(file, "assembly_id", x)
		}
	}
}

func objects(v any) (out []map[string]any) {
	list, _ := v.([]any)
	for _, x := range list {
		if m, ok := x.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// refKinds says what the members of records refer to.
func refKinds() map[string]string {
	return map[string]string{"item_refs": "item_id", "item_ref": "item_id", "of": "item_id", "candidate_item_refs": "item_id", "selected_item_refs": "item_id",
		"source_item_refs": "item_id", "available_item_refs": "item_id", "source_refs": "source_id", "available_source_refs": "source_id", "provenance_refs": "source_id",
		"surface_refs": "surface_id", "surface_id": "surface_id", "selection_refs": "selection_id", "budget_ref": "budget_id", "assembly_refs": "assembly_id",
		"assembly_id": "assembly_id", "injection_refs": "injection_id", "compaction_refs": "compaction_id", "missing_context_refs": "missing_id",
		"window_segments": "segment_id", "block_ref": "block_id"}
}

func (c *checker) walk(d map[string]any, exists func(path string) bool) {
	kinds := refKinds()
	for _, key := range slices.Sorted(maps.Keys(d)) {
		v := d[key]
		if kind := kinds[key]; kind != "" {
			c.refs(key, kind, v)
		}
		switch key {
		case "content_ref", "uri", "path", "final_ref", "summary_ref":
			c.path(key, v, exists)
		case "policy_refs", "capability_refs":
			for _, s := range strs(v) {
				c.path(key, s, exists)
			}
		}
		if m, ok := v.(map[string]any); ok && key != "data" {
			c.walk(m, exists)
		}
		for _, m := range objects(v) {
			c.walk(m, exists)
		}
	}
}

// path looks a file up. A summary may also be named as a record, and shown bytes as a blob.
func (c *checker) path(key string, v any, exists func(path string) bool) {
	s, _ := v.(string)
	if s == "" || c.ids["summary_id"][s] || c.ids["item_id"][s] {
		return
	}
	if isBlob(s) {
		s = "context/dedup/blob/" + s
	}
	if !exists(s) {
		c.bad("%s %s is not there", key, s)
	}
}

func (c *checker) refs(key, kind string, v any) {
	for _, s := range strs(v) {
		if !c.ids[kind][s] {
			c.bad("%s names %s, and there is no such record", key, s)
		}
	}
}

// strs gives a string, or a list of strings, as a list.
func strs(v any) (out []string) {
	if s, ok := v.(string); ok {
		return []string{s}
	}
	list, _ := v.([]any)
	for _, x := range list {
		if s, ok := x.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
