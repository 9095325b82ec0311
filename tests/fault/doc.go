// Package fault fails the program's system calls one by one, at each place that makes them, and cuts its power at each point
// of what it wrote, and holds what is left to the promise of docs/reliability.md.
package fault
