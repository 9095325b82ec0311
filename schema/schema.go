// Package schema holds the JSON Schemas (2020-12) of ctxfs's records and of the files that agents write beside them. They are
// written by hand from the specifications, not made from the program, so that the two can be held against each other.
// docs/formats.md says where each value comes from.
package schema

import "embed"

// Files holds the schemas by their names, as agentcontext-context-item.schema.json.
//
//go:embed *.schema.json
var Files embed.FS
