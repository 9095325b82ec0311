package posix

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
)

// op is one operation of a random test, as it is printed: a name and its arguments. Numbers that are too large for what is there
// are part of the game, and an operation on what is not there does nothing: so any part of a list of operations is one, too.
type op []string

func (o op) String() string { return strings.Join(o, " ") }

func (o op) num(i int) int {
	n, err := strconv.Atoi(o[i])
	if err != nil {
		panic(err)
	}
	return n
}

// world does operations on the mount and on a model, and tells by an error where they differ.
type world interface {
	do(o op) error
	check() error // looks at everything
	close()
}

// game is a random test: how to begin, and what can be done next.
type game struct {
	name  string
	begin func(m *mount, n int) world
	next  func(r *rand.Rand) op
}

func readOps(file string) ([]op, error) {
	data, err := os.ReadFile(file)
	var ops []op
	for line := range strings.Lines(string(data)) {
		if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
			ops = append(ops, words)
		}
	}
	return ops, err
}

// failure is where a list of operations went wrong: after ops.
type failure struct {
	ops []op
	err error
}

func (f *failure) String() string {
	var b strings.Builder
	for i, o := range f.ops {
		fmt.Fprintf(&b, "%3d %v\n", i, o)
	}
	return fmt.Sprintf("%v, after\n%s", f.err, b.String())
}

// play does operations in a new place, up to the first that goes wrong.
func (g *game) play(m *mount, n int, ops []op) *failure {
	w := g.begin(m, n)
	defer w.close()
	for i, o := range ops {
		err := w.do(o)
		if err == nil && i%50 == 49 {
			err = w.check()
		}
		if err != nil {
			return &failure{ops[:i+1], fmt.Errorf("%v: %w", o, err)}
		}
	}
	if err := w.check(); err != nil {
		return &failure{ops, err}
	}
	return nil
}

// shrink leaves out what a failure does not need, in ever smaller pieces, with so many tries.
func (g *game) shrink(m *mount, n *int, f *failure, tries int) *failure {
	for size := len(f.ops) / 2; size > 0; {
		smaller := false
		for at := 0; at+size <= len(f.ops) && tries > 0; {
			*n++
			tries--
			less := g.play(m, *n, slices.Concat(f.ops[:at], f.ops[at+size:]))
			if less != nil {
				f, smaller = less, true
				continue
			}
			at += size
		}
		if tries == 0 {
			return f
		}
		if !smaller {
			size /= 2
		}
	}
	return f
}

// pick gives one of the words, with arguments.
func pick(r *rand.Rand, words ...string) string { return words[r.IntN(len(words))] }

func digits(n int) string { return strconv.Itoa(n) }

// differ is an error when what a call gave is not what the model says.
func differ(got, want string) error {
	if got != want {
		return fmt.Errorf("it gives %.300s, the model %.300s", got, want)
	}
	return nil
}
