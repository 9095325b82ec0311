// Package fsnode serves a store as a FUSE file system: nodes, errno mapping and what the kernel may cache. It is the
// only importer of go-fuse, and uses its raw interface, since the fs package drops the flags and the lock owner of
// a write, which tell writers of a log apart.
//
// Node ids are computed. An id is a number and a kind: the number names an owner, an agent, a session or a plain
// file in a small persistent table, and the kind is which of its files and folders is meant. A restarted daemon
// can serve every id that the kernel holds.
package fsnode
