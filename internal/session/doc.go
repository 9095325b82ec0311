// Package session keeps sessions as plain files in a store: the store and its lock, agents and their indexes, the
// session directory with its logs and control files, and the views that are built from them. Bytes go in, immutable
// snapshots come out; it knows nothing of FUSE.
//
// A store mirrors the mounted tree (design: section 8):
//
//	<store>/.ctxfs/lock                                       held by the daemon
//	<store>/home/<uid>/agent/<agent>/session/<session>/...    a session's plain files
//	<store>/home/<uid>/.ctxfs/{blob,quarantine}/              what is kept beside them, an owner
package session
