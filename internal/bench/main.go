// Command bench prints the tables and draws the plots of `make bench`: what work costs through ctxfs, beside the file system
// of its store, go-fuse's own loopback example, and other file systems that pass requests on, measured in turns in one run.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		if err := inner(os.Args[1], os.Args[2:]); err != nil {
			log.Fatal(err)
		}
		return
	}
	var b bench
	flag.IntVar(&b.runs, "runs", 5, "how often each row is measured; medians are printed")
	rows := flag.String("rows", ".", "regular expression of the rows to measure")
	flag.StringVar(&b.ctxfs, "program", "bin/ctxfs", "the ctxfs to measure")
	flag.StringVar(&b.out, "out", "", "folder for the report and its plots; none: the rows are printed, and nothing else is measured")
	flag.Parse()
	var err error
	if b.only, err = regexp.Compile(*rows); err != nil {
		log.Fatal(err)
	}
	if err := b.run(); err != nil {
		log.Fatal(err)
	}
}

// inner is what the program is started for by itself, and by make bench-check.
func inner(what string, args []string) error {
	switch {
	case what == "client":
		return client(args)
	case what == "floor" && len(args) == 1:
		return floor(args[0])
	case what == "work" && len(args) == 2:
		return doWork(args[0], args[1] == "skip")
	case (what == "check" || what == "note") && len(args) == 1:
		return check(args[0], what == "note")
	}
	return fmt.Errorf("bench: %s %q is not known", what, args)
}

// bench is one run.
type bench struct {
	programs
	runs int
	only *regexp.Regexp
	out  string
	work string
}

func (b *bench) run() (err error) {
	if b.work, err = os.MkdirTemp("", "ctxfs-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.work)) }()
	if err := b.prepare(); err != nil {
		return err
	}
	r := report{machine: b.machine()}
	if r.rows, err = b.sideBySide(); err != nil {
		return err
	}
	if b.out == "" {
		return nil
	}
	if err := r.grow(b); err != nil {
		return err
	}
	return r.write(b.out)
}

// prepare puts the programs where every user can run them.
func (b *bench) prepare() error {
	if err := os.Chmod(b.work, 0o755); err != nil {
		return err
	}
	b.loopback = filepath.Join(b.work, "loopback")
	if err := run("go", "build", "-o", b.loopback, "github.com/hanwen/go-fuse/v2/example/loopback"); err != nil {
		return err
	}
	ctxfs := filepath.Join(b.work, "ctxfs")
	if err := run("cp", b.ctxfs, ctxfs); err != nil {
		return err
	}
	b.ctxfs = ctxfs
	return nil
}

func run(argv ...string) error {
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%v: %w: %s", argv, err, out)
	}
	return nil
}
