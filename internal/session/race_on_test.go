//go:build race

package session_test

// slow tells that the race detector makes everything ten times slower.
const slow = true
