// Package serve answers at the session sockets, /ctx/agent/<name>.sock and /ctx/model/<name>.sock (Session ABI;
// docs/sockets.md): it takes connections, holds them to limits, records what users send before it answers, hands it to
// the agent process that serves the session, and records and passes on what that says.
//
// Who a peer is, the kernel says (SO_PEERCRED), never a frame. A connection has one goroutine that reads and one that
// writes; nothing is written to a connection under a lock, so that a peer that does not read delays only itself.
package serve
