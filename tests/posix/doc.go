// Package posix holds what ctxfs serves to POSIX, case by case: go-fuse's cases, a table of each system call's errors beside
// what the file system below gives, the own rules of logs, control files and generated files, random operations against a
// model, and load from fio and stress-ng.
package posix
