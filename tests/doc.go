// Package tests runs the real program on real mounts. Every test ends with an unmount, a check for leaked file
// descriptors and `ctxfs verify`.
package tests
