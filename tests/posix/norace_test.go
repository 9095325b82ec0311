//go:build !race

package posix

const raceEnabled = false
