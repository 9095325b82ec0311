//go:build race

package posix

// raceEnabled builds the program under test with the race detector too.
const raceEnabled = true
