//go:build race

package testhost

// Race reports whether the tests run under the race detector.
const Race = true
