package main

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// tolerance is how much more than what is noted a work may cost: callgrind's counts of one program differ by less than one in
// a hundred, those of another version of Go by some.
const tolerance = 0.08

// check counts the instructions of each work and holds them to a table; with update it writes that.
func check(table string, update bool) error {
	noted, err := readCounts(table)
	if err != nil && !update {
		return err
	}
	now := counts{"go": runtime.Version()}
	var errs []error
	fmt.Println("| work | instructions | noted | |\n| --- | --- | --- | --- |")
	for _, name := range workNames() {
		n, err := instructions(name)
		if err != nil {
			return err
		}
		now[name] = strconv.FormatInt(n, 10)
		was, _ := strconv.ParseInt(noted[name], 10, 64) // not noted: 0
		change := float64(n)/float64(max(was, 1)) - 1
		fmt.Printf("| %s | %d | %d | %+.1f %% |\n", name, n, was, 100*change)
		if change > tolerance && !update {
			errs = append(errs, fmt.Errorf("%s takes %.1f %% more instructions than noted in %s; the tolerance is %.0f %%", name, 100*change, table, 100*tolerance))
		}
	}
	if update {
		return os.WriteFile(table, []byte(now.text()), 0o644)
	}
	if noted["go"] != now["go"] {
		fmt.Printf("SKIP: counts were noted with %s, this is %s: they are printed, not compared (make bench-note notes them anew)\n", noted["go"], now["go"])
		return nil
	}
	return errors.Join(errs...)
}

// instructions is what a work costs: with it, less without it.
func instructions(name string) (int64, error) {
	with, err := callgrind(name, "do")
	if err != nil {
		return 0, err
	}
	without, err := callgrind(name, "skip")
	return with - without, err
}

// callgrind has valgrind count the instructions of this program while it does a work on one thread, without collecting garbage.
func callgrind(name, how string) (int64, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", self, "work", name, how)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=off", "GODEBUG=asyncpreemptoff=1") // callgrind does not survive signals
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("valgrind: %w: %s", err, out)
	}
	found := regexp.MustCompile(`Collected : (\d+)`).FindSubmatch(out)
	if found == nil {
		return 0, fmt.Errorf("valgrind counted nothing: %s", out)
	}
	return strconv.ParseInt(string(found[1]), 10, 64)
}

// counts is the table: a name and a value a line.
type counts map[string]string

func readCounts(file string) (counts, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	c := counts{}
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		if name, value, ok := strings.Cut(sc.Text(), "\t"); ok {
			c[name] = value
		}
	}
	return c, sc.Err()
}

func (c counts) text() string {
	text := "# Instructions of each work of make bench-check, as valgrind's callgrind counts them; written by make bench-note.\n"
	for _, name := range slices.Sorted(maps.Keys(c)) {
		text += name + "\t" + c[name] + "\n"
	}
	return text
}
