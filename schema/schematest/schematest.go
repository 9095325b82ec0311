// Package schematest holds records to their schemas, in tests.
package schematest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"ctxfs/schema"
)

// Set is the schemas, read. Formats (date-time) are asserted.
type Set struct{ c *jsonschema.Compiler }

// New reads all schemas of the repository.
func New(t testing.TB) *Set {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	for _, name := range Names(t) {
		if err := c.AddResource(url(name), document(t, name)); err != nil {
			t.Fatal(err)
		}
	}
	return &Set{c}
}

// The schemas name each other by file, so any base does.
func url(name string) string { return "file:///schema/" + name }

// Names lists the schemas.
func Names(t testing.TB) []string {
	t.Helper()
	list, err := schema.Files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

func document(t testing.TB, name string) any {
	t.Helper()
	data, err := schema.Files.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return doc
}

// Validate holds a value, as encoding/json gives it, to a schema.
func (s *Set) Validate(t testing.TB, name string, v any) error {
	t.Helper()
	sch, err := s.c.Compile(url(name))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return sch.Validate(v)
}

// Values reads the JSON values of a file, one or one a line.
func Values(t testing.TB, data []byte) (out []any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	for {
		var v any
		switch err := dec.Decode(&v); {
		case err == io.EOF:
			return out
		case err != nil:
			t.Fatal(err)
		}
		out = append(out, v)
	}
}

// Holds tells of each record in data that is not as its schema says, and of each that has a member which the schema does not
// name: an open schema would let a misspelt one pass.
func (s *Set) Holds(t testing.TB, name string, data []byte) (records int) {
	t.Helper()
	known := properties(t, name)
	for i, v := range Values(t, data) {
		if err := s.Validate(t, name, v); err != nil {
			t.Errorf("%s, record %d: %v", name, i+1, err)
		}
		o, _ := v.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(o)) {
			if known[key] == nil {
				t.Errorf("%s: record %d has %q, which the schema does not name", name, i+1, key)
			}
		}
		records++
	}
	return records
}

func properties(t testing.TB, name string) map[string]any {
	doc, _ := document(t, name).(map[string]any)
	props, _ := doc["properties"].(map[string]any)
	return props
}

// Refuses breaks a good record in each way that its schema speaks of, at its top: without a required member, with a member of
// another type. Each must be refused. It gives the number of ways.
func (s *Set) Refuses(t testing.TB, name string, good any) (ways int) {
	t.Helper()
	if err := s.Validate(t, name, good); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	doc, _ := document(t, name).(map[string]any)
	refused := func(what string, v any) {
		ways++
		if s.Validate(t, name, v) == nil {
			t.Errorf("%s takes a record with %s", name, what)
		}
	}
	required, _ := doc["required"].([]any)
	for _, r := range required {
		v := clone(good)
		delete(v, fmt.Sprint(r))
		refused(fmt.Sprintf("no %v", r), v)
	}
	for _, key := range slices.Sorted(maps.Keys(properties(t, name))) {
		v := clone(good)
		p, _ := properties(t, name)[key].(map[string]any)
		if len(p) == 0 || v[key] == nil {
			continue // anything goes, or it is not there
		}
		v[key] = wrong(v[key])
		refused(fmt.Sprintf("%s %v", key, v[key]), v)
	}
	refused("no object", []any{good})
	return ways
}

func clone(v any) map[string]any {
	o, _ := v.(map[string]any)
	return maps.Clone(o)
}

// wrong is something of another type.
func wrong(v any) any {
	switch v.(type) {
	case string:
		return map[string]any{"no": "string"}
	case float64, bool, json.Number:
		return "no number"
	}
	return 17.5
}
