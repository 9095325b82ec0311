//go:build race

package pack

// slow tells that the race detector makes everything ten times slower.
const slow = true
