package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ctxfs/internal/mounts"
	"ctxfs/internal/record"
	"ctxfs/internal/report"
	"ctxfs/internal/session"

	"github.com/spf13/cobra"
)

func newReport() *cobra.Command {
	var file string
	var opt session.PackFile
	var steps int
	cmd := &cobra.Command{
		Use: "report SESSION", Short: "write a page of HTML about a session's context packs over time",
		Long: `Write one self-contained page of HTML: the packs that ctxfs builds at each request of the user's and at records between, how full they
are, what entered and left them and why, what tool outputs take in the log and in the pack, and when it was compacted. Of a session that was imported these
packs are not what the model saw: the page says so. Beside them it draws the tokens that the model's API counted, where records have a "usage". Secrets are
masked.`,
		Example: "  ctxfs report . -o report.html\n  ctxfs report /ctx/home/1000/agent/coder/session/fix-42 --budget 8000 --steps 200 -o report.html", Args: exactArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			return errors.Join(isWithin("--steps", steps, 1, 2000), isWithin("--budget", opt.Budget, 0, session.MaxBudget))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" && isTerminal(cmd.OutOrStdout()) {
				return usageError{"a page of HTML says little on a terminal: name a file for it, -o report.html"}
			}
			story, err := tellStory(cmd, args[0], opt, steps)
			if err != nil {
				return err
			}
			if file == "" {
				return story.Render(cmd.OutOrStdout())
			}
			return toFile(file, story.Render)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&file, "output", "o", "", "write to this file, not to standard output")
	fl.IntVar(&opt.Budget, "budget", 0, "budget in tokens (default: the session's)")
	fl.IntVar(&steps, "steps", 60, "at most so many steps")
	return takesSession(cmd, findSession)
}

// tellStory builds the packs of a session at some of its records.
func tellStory(cmd *cobra.Command, dir string, opt session.PackFile, steps int) (*report.Story, error) {
	text, err := readLog(dir, session.Messages)
	if err != nil {
		return nil, err
	}
	events, err := readLog(dir, session.Events)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	log := record.NewMemory(text)
	at, err := report.Pick(log, steps)
	if err != nil {
		return nil, err
	}
	pack, done, err := packReader(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	bar := newProgress(cmd.ErrOrStderr(), "packs", int64(len(at)), false)
	defer bar.end()
	var packs []report.Pack
	for _, opt.At = range at {
		opt.JSON = true
		data, err := pack(opt)
		if err != nil {
			return nil, err
		}
		p, err := report.ParsePack(data)
		if err != nil {
			return nil, err
		}
		packs = append(packs, p)
		bar.stepped()
	}
	mask, err := maskOf(dir)
	if err != nil {
		return nil, err
	}
	abs := mounts.Real(dir)
	agent := strings.TrimSuffix(filepath.Base(filepath.Dir(filepath.Dir(abs))), ".d")
	return report.Tell(agent, filepath.Base(abs), log, events, at, packs, mask)
}

// maskOf returns the function that masks the secrets of a session, by its own rules too, in a mount or in a store.
func maskOf(dir string) (func(text string) string, error) {
	abs := mounts.Real(dir)
	if inMount(abs) {
		own, err := os.ReadFile(filepath.Join(abs, session.RedactFile))
		if err != nil {
			return nil, err
		}
		return session.Masker(own)
	}
	x, done, err := openSession(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	own, err := x.ReadControl(session.RedactFile)
	if err != nil {
		return nil, err
	}
	return session.Masker(own)
}

// packReader reads pack.json again and again. A session in a store is opened once.
func packReader(dir string) (read func(session.PackFile) ([]byte, error), done func(), err error) {
	if inMount(mounts.Real(dir)) {
		return func(f session.PackFile) ([]byte, error) { return readPack(dir, f) }, func() {}, nil
	}
	x, done, err := openSession(dir)
	return func(f session.PackFile) ([]byte, error) {
		built, err := x.Pack(f)
		if err != nil {
			return nil, err
		}
		return built.JSON, nil
	}, done, err
}

// readLog gives a log of a session in a mount or in a store, archived or not.
func readLog(dir, name string) ([]byte, error) {
	abs := mounts.Real(dir)
	if inMount(abs) {
		return os.ReadFile(filepath.Join(abs, name))
	}
	x, done, err := openSession(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	l, err := x.Log(name)
	if err != nil {
		return nil, err
	}
	defer x.Release()
	return io.ReadAll(io.NewSectionReader(l, 0, l.Size()))
}
