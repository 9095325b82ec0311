// Command bench prints the tables of `make bench-sessions`: what it costs to list, find, make and name sessions when one
// agent has many, through a mount and beside the same folders on the file system below.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	log.SetFlags(0)
	sizes := flag.String("sizes", "1000,10000,100000", "numbers of sessions of one agent, with commas between")
	runs := flag.Int("runs", 5, "how often each row is measured; the median is printed")
	only := flag.String("rows", ".", "regular expression of the rows to measure")
	program := flag.String("program", "bin/ctxfs", "the ctxfs to measure")
	flag.Parse()
	var ns []int
	for _, s := range strings.Split(*sizes, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n <= 0 {
			log.Fatalf("-sizes: %q is not a number of sessions", s)
		}
		ns = append(ns, n)
	}
	re, err := regexp.Compile(*only)
	if err != nil {
		log.Fatal(err)
	}
	if err := run(ns, *runs, *program, re); err != nil {
		log.Fatal(err)
	}
}

func run(sizes []int, runs int, program string, only *regexp.Regexp) error {
	if os.Geteuid() != 0 {
		fmt.Println("SKIP: rows on cold caches, which only root can drop")
	}
	fmt.Println("Medians, in milliseconds. Native is the same folders and files on the file system of the store. Cold: the kernel's")
	fmt.Println("entries and attributes were dropped, and the daemon started anew; the files' blocks stay in its page cache.")
	for _, n := range sizes {
		if err := table(n, runs, program, only); err != nil {
			return err
		}
	}
	return nil
}

func table(n, runs int, program string, only *regexp.Regexp) error {
	work, err := os.MkdirTemp("", "ctxfs-bench-sessions-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }() // temporary
	w, err := newWorld(work, n, program)
	if err != nil {
		return err
	}
	defer w.stop()
	if err := w.start(); err != nil {
		return err
	}
	fmt.Printf("\n%d sessions\n\n| | native | ctxfs | ratio |\n| --- | --- | --- | --- |\n", n)
	for _, r := range rows(w) {
		if r.cold && os.Geteuid() != 0 || !only.MatchString(r.name) {
			continue
		}
		if err := w.measure(r, runs); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return w.memory()
}
