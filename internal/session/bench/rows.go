package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"ctxfs/internal/session"
)

// step does something in a folder of sessions.
type step func(dir string, run int) error

// row is something that is done in a folder of sessions.
type row struct {
	name   string
	cold   bool // on cold caches
	native step // nil: nothing there is like it
	ctxfs  step
	before step // done before each run, and not measured
}

func rows(w *world) []row {
	all := []row{}
	for _, c := range []string{"ls -f", "ls", "ls -l", "find . -maxdepth 1", "echo *"} {
		f := shell(c + " >" + os.DevNull)
		all = append(all, row{name: c + ", cold", cold: true, native: f, ctxfs: f}, row{name: c + ", warm", native: f, ctxfs: f})
	}
	newest, key := shell("ls -t >"+os.DevNull), "index/by-cwd/"+session.CWDKey("/work/0")
	list, current, byCWD, used := reads("index/list"), reads("index/current"), reads(key), w.appends(w.n/2)
	all = append(all,
		row{name: "index/list, first after a start, cold (native: ls -t)", cold: true, native: newest, ctxfs: list},
		row{name: "index/list, after an append (native: ls -t)", native: newest, ctxfs: list, before: used},
		row{name: "index/current, first after a start, cold", cold: true, ctxfs: current},
		row{name: "index/current, first after a start, warm", ctxfs: current, before: w.restart},
		row{name: "index/current, after an append", ctxfs: current, before: used},
		row{name: "index/current, a second after a start, cold", cold: true, ctxfs: current, before: pause},
		row{name: "index/by-cwd/KEY, first after a start, cold", cold: true, ctxfs: byCWD},
		row{name: "index/by-cwd/KEY, after an append", ctxfs: byCWD, before: used},
		row{name: "ls index/by-cwd", ctxfs: shell("ls index/by-cwd >" + os.DevNull)},
		row{name: "mkdir of a session, first after a start, cold", cold: true, native: makes("cold"), ctxfs: makes("cold")},
		row{name: "mkdir of a session", native: makes("warm"), ctxfs: makes("warm")},
		row{name: "first append to a session", native: w.appends(20), ctxfs: w.appends(20)},
		row{name: "rename of a session and back", native: renames, ctxfs: renames},
		row{name: "ctxfs status, first after a start, cold", cold: true, ctxfs: w.command("status", w.point)},
		row{name: "ctxfs sessions -n 20", ctxfs: w.command("sessions", "coder", "-n", "20", "--mount", w.point)},
	)
	if w.n <= 1000 { // it reads three files of each
		all = append(all, row{name: "ctxfs sessions", ctxfs: w.command("sessions", "coder", "--mount", w.point)})
	}
	return all
}

// measure prints a row.
func (w *world) measure(r row, runs int) error {
	native, ratio := "–", "–"
	var there time.Duration
	if r.native != nil {
		var err error
		if there, err = r.median(w.native, runs, r.native, func() error { return nil }); err != nil {
			return err
		}
		native = ms(there)
	}
	here, err := r.median(w.mounted, runs, r.ctxfs, func() error { return w.restart("", 0) })
	if err != nil {
		return err
	}
	if there > 0 {
		ratio = fmt.Sprintf("%.1f", float64(here)/float64(there))
	}
	fmt.Printf("| %s | %s | %s | %s |\n", r.name, native, ms(here), ratio)
	return nil
}

// median does a row's step in dir, on cold caches after start if the row says so, and gives the median time. A first run
// more does not count.
func (r row) median(dir string, runs int, do step, start func() error) (time.Duration, error) {
	var took []time.Duration
	for i := range runs + 1 {
		if r.cold {
			if err := errors.Join(drop(), start()); err != nil {
				return 0, err
			}
		}
		if r.before != nil {
			if err := r.before(dir, i); err != nil {
				return 0, err
			}
		}
		from := time.Now()
		if err := do(dir, i); err != nil {
			return 0, err
		}
		if i > 0 {
			took = append(took, time.Since(from))
		}
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// pause is how long who mounts may take to ask.
func pause(string, int) error {
	time.Sleep(time.Second)
	return nil
}

func ms(d time.Duration) string {
	v := float64(d.Microseconds()) / 1000
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

func shell(script string) step {
	return func(dir string, _ int) error {
		cmd := exec.Command("bash", "-c", script)
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		return cmd.Run()
	}
}

func (w *world) command(args ...string) step {
	return func(string, int) error {
		cmd := exec.Command(w.program, args...)
		cmd.Stderr = os.Stderr
		return cmd.Run()
	}
}

func reads(file string) step {
	return func(dir string, _ int) error {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err == nil && len(data) == 0 {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
}

func add(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, session.Messages), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("{\"role\":\"user\",\"content\":\"more\"}\n")
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func makes(what string) step {
	return func(dir string, run int) error {
		return os.Mkdir(filepath.Join(dir, fmt.Sprintf("new-%s-%d", what, run)), 0o700)
	}
}

// appends writes a line to one session after the other.
func (w *world) appends(from int) step {
	return func(dir string, run int) error { return add(filepath.Join(dir, name((from+run)%w.n))) }
}

func renames(dir string, run int) error {
	from, to := filepath.Join(dir, name(run)), filepath.Join(dir, "renamed")
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return os.Rename(to, from)
}
