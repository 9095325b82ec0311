// Package mcp serves sessions to clients of the Model Context Protocol, by the official Go SDK: files of a
// mount as resources, packs, recall, history and appends as tools, and prompts. It reads and writes the mount as any program of its
// user does, so that what a client may see is what that user may.
package mcp
