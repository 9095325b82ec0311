// Package bundle is the working-context bundle, format 0.1: a folder of four small files that says what an agent holds
// in force now and how that came about, so that another agent or runtime can go on from there. It renders, reads,
// checks, compares and merges bundles, and derives a lifecycle from the packs that were shown. It does no I/O.
//
//	manifest.json    what this is
//	snapshot.json    the entries in force, under a budget of tokens
//	lifecycle.jsonl  how they came and went, one decision a line
//	snapshot.md      the snapshot for people
//
// Where the specification leaves room, this package decides:
//
//   - "entry_id references a snapshot entry": a line may name an entry of snapshot.json, or one that an earlier line of
//     the log brought in (commit, or supersede with `supersedes`). What has left the snapshot was committed before, and
//     the log travels whole. So evicting what was never there is an error; and so is a log that ends with an entry in
//     force that snapshot.json does not have.
//   - `supersedes` follows the same rule, and an entry does not supersede itself. A supersede line without it marks its
//     own entry_id, and then its status must be superseded.
//   - The status of an entry is that of the last line about it. `deprecate` makes it deprecated and being named in
//     `supersedes` makes it superseded, whatever status stands there. An entry that the log does not name is active.
//   - superseded and deprecated entries may stand in snapshot.json; nobody takes them over (see Entering).
//   - An optional field that is null is absent. Blank lines of lifecycle.jsonl are passed over.
//   - Fields that are not of the format are kept, byte for byte and in their order, after those that are. Numbers keep
//     their spelling. Other files of the folder are not looked at.
//   - A higher minor version is read by the rules of 0.1; its new fields are foreign ones.
package bundle
