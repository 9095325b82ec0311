//go:build !race

package pack

const slow = false
