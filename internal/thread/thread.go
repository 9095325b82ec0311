// Package thread runs a function on an operating system thread that ends with it: for what changes the thread itself,
// as its file table or the user that it is for the file system.
package thread

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Run runs fn on a thread of its own, and gives what it returns once it is done.
func Run(fn func() error) error {
	errc := make(chan error, 1)
	go run(fn, errc)
	return <-errc
}

func run(fn func() error, errc chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// The first thread of a process is never given back: Go would park it for good, with all that fn did to it. While
		// this goroutine holds it, another one runs elsewhere.
		defer runtime.UnlockOSThread()
		errc <- Run(fn)
		return
	}
	errc <- fn() // still locked: Go ends the thread
}
