package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// timing is what a client measured.
type timing struct {
	Each float64 // nanoseconds an operation: the time from the first to the last, by the number of operations
	P50  float64 // nanoseconds
	P99  float64 // nanoseconds
}

// A client is this program once more, as a process of its own, which may be another user's: it asks the kernel and nothing
// else while it measures. Its arguments are the name of an operation, how often each writer does it, and one file a writer.
func client(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("client: want an operation, a count and files")
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	op, ok := operations()[args[0]]
	if !ok {
		return fmt.Errorf("client: no operation %q", args[0])
	}
	// Each writer has a thread of its own, and none waits for another's request.
	runtime.GOMAXPROCS(len(args) + 2)
	t, err := together(op, n, args[2:])
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(t)
}

// operation is done again and again on what it made of a file's path.
type operation func(path string) (step func() error, err error)

func operations() map[string]operation {
	return map[string]operation{
		"append":  appends(func(int) error { return nil }),
		"durable": appends(syscall.Fsync),
		"reopen":  reopens(func(int) error { return nil }),
		"synced":  reopens(syscall.Fsync),
		"read":    reads,
		"next":    nexts,
	}
}

// line is a record of 430 bytes, as findings were measured with.
func line() []byte {
	const head, tail = `{"role":"user","content":"`, "\"}\n"
	return []byte(head + strings.Repeat("x", 430-len(head)-len(tail)) + tail)
}

// put is write(2), whole.
func put(fd int, p []byte) error {
	n, err := raw(syscall.SYS_WRITE, fd, p)
	if err == nil && n != len(p) {
		err = syscall.EIO
	}
	return err
}

// appends writes lines to one open file, and does after to it.
func appends(after func(fd int) error) operation {
	return func(path string) (func() error, error) {
		p := line()
		fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_APPEND|syscall.O_CLOEXEC, 0)
		return func() error {
			if err := put(fd, p); err != nil {
				return err
			}
			return after(fd)
		}, err
	}
}

// reopens opens for each line, as >> of a shell does, and does after to the file before it is closed.
func reopens(after func(fd int) error) operation {
	return func(path string) (func() error, error) {
		p := line()
		return func() error {
			fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_APPEND|syscall.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			if err := put(fd, p); err != nil {
				return err
			}
			if err := after(fd); err != nil {
				return err
			}
			return syscall.Close(fd)
		}, nil
	}
}

// reads reads a file whole, as cat does.
func reads(path string) (func() error, error) {
	buf := make([]byte, 128<<10)
	return func() error { return whole(path, buf) }, nil
}

func whole(path string, buf []byte) error {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for {
		n, err := raw(syscall.SYS_READ, fd, buf)
		if err != nil {
			return err
		}
		if n == 0 {
			return syscall.Close(fd)
		}
	}
}

// nexts reads a pack after one more line stands in the log beside it.
func nexts(path string) (func() error, error) {
	log, _, _ := strings.Cut(path, "/context/")
	add, err := appends(func(int) error { return nil })(log + "/messages.jsonl")
	buf := make([]byte, 128<<10)
	return func() error {
		if err := add(); err != nil {
			return err
		}
		return whole(path, buf)
	}, err
}

// together has one thread a file do op n times, all at once.
func together(op operation, n int, files []string) (timing, error) {
	var (
		ready, done sync.WaitGroup
		start       = make(chan struct{})
		took        = make([][]time.Duration, len(files))
		errs        = make([]error, len(files))
	)
	for i, file := range files {
		ready.Add(1)
		done.Go(func() {
			runtime.LockOSThread()
			step, err := op(file)
			took[i] = make([]time.Duration, 0, n)
			ready.Done()
			<-start
			for j := 0; j < n && err == nil; j++ {
				from := time.Now()
				err = step()
				took[i] = append(took[i], time.Since(from))
			}
			errs[i] = err
		})
	}
	ready.Wait()
	runtime.GC()
	from := time.Now()
	close(start)
	done.Wait()
	all := time.Since(from)
	for i, err := range errs {
		if err != nil {
			return timing{}, fmt.Errorf("%s: %w", files[i], err)
		}
	}
	ops := slices.Concat(took...)
	slices.Sort(ops)
	return timing{Each: float64(all) / float64(len(ops)), P50: float64(at(ops, 0.5)), P99: float64(at(ops, 0.99))}, nil
}

// at is a quantile of sorted values.
func at[T any](sorted []T, q float64) T { return sorted[int(q*float64(len(sorted)-1))] }
