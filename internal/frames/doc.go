// Package frames is the language of the session sockets: JSON lines, a frame each (Session ABI; docs/sockets.md). It
// reads what clients and agents send, in the documented order of checks, and writes what they are answered. It is pure:
// it opens nothing, and the same bytes give the same answer.
package frames
