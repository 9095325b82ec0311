package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"ctxfs/internal/context/pack"
	"ctxfs/internal/mounts"
	"ctxfs/internal/session"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

func newPack() *cobra.Command {
	var opt session.PackFile
	var why bool
	var colour colourFlag
	cmd := &cobra.Command{
		Use: "pack SESSION", Short: "print the pack of a session, in a mount or in a store",
		Long: `Print what context/pack.md (with --json: context/pack.json) of the session would be with these options.
Its path may be in a store that is not mounted.

--explain shows the window as a bar, what each part takes of the budget, and why it is in or out. On a terminal that is in
colour, unless NO_COLOR is set.`,
		Example: "  ctxfs pack /ctx/home/1000/agent/coder/session/fix-42\n  ctxfs pack . --budget 4000 --query 'why did the mount fail'\n  ctxfs pack . --at 120 --json | jq .items\n  ctxfs pack . --budget 4000 --explain\n  ctxfs pack . --explain --color always | less -R", Args: exactArgs(1),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			err := errors.Join(isWithin("--budget", opt.Budget, 0, session.MaxBudget), isWithin("--at", opt.At, 0, math.MaxInt32),
				isOneOf("--target", orElse(opt.Target, pack.TargetModel), pack.Targets()))
			if err != nil {
				return err
			}
			if opt.Target == pack.TargetModel {
				opt.Target = ""
			}
			_, err = colour.paint(cmd.OutOrStdout())
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ink, err := colour.paint(cmd.OutOrStdout())
			if err != nil {
				return err
			}
			opt.JSON = opt.JSON || why
			data, err := readPack(args[0], opt)
			if err != nil {
				return err
			}
			if why {
				return explain(cmd.OutOrStdout(), data, ink, barFor(cmd.OutOrStdout()))
			}
			return show(cmd.OutOrStdout(), data)
		},
	}
	cmd.Flags().IntVar(&opt.Budget, "budget", 0, "budget in tokens (default: the session's)")
	cmd.Flags().StringVar(&opt.Query, "query", "", "rank older records against this text (default: the latest user message)")
	cmd.Flags().IntVar(&opt.At, "at", 0, "build as of this record (default: the newest)")
	cmd.Flags().StringVar(&opt.Target, "target", "", "whom the pack is for: model, tool, reviewer, user (default: model)")
	cmd.Flags().BoolVar(&opt.JSON, "json", false, "print pack.json instead of pack.md")
	cmd.Flags().BoolVar(&why, "explain", false, "show what is in the pack and what is not, with scores and reasons, and a bar of the window")
	colour.add(cmd)
	cmd.MarkFlagsMutuallyExclusive("json", "explain")
	return takesSession(cmd, findSession)
}

// readPack reads the pack's file in a mount, or builds it from a store that is not mounted.
func readPack(p string, f session.PackFile) ([]byte, error) {
	abs := mounts.Real(p)
	if inMount(abs) {
		name := f.Name()
		if len(name) > unix.NAME_MAX {
			return nil, usageError{fmt.Sprintf("--query is too long by %d bytes: in a mount it is part of a file's name", len(name)-unix.NAME_MAX)}
		}
		data, err := os.ReadFile(filepath.Join(abs, "context", name))
		if errors.Is(err, fs.ErrNotExist) && f.At > 0 {
			return nil, &session.Error{Kind: session.NotFound, Msg: fmt.Sprintf("%s has no record %d", p, f.At), Hint: "ctxfs history numbers them"}
		}
		return data, err
	}
	x, done, err := openSession(p)
	if err != nil {
		return nil, err
	}
	defer done()
	built, err := x.Pack(f)
	if err != nil {
		return nil, err
	}
	if f.JSON {
		return built.JSON, nil
	}
	return built.Markdown, nil
}

// inMount reports whether a path is that of a session in a mount of ctxfs.
func inMount(abs string) bool {
	p, ok := placeOf(abs)
	return ok && p.mounted()
}

// notASession is the error of a path that is not a session's, or one that is in no store.
func notASession(p, abs string) error {
	if at, ok := placeOf(abs); ok && at.folder == temporary {
		return fmt.Errorf("%s is a temporary session, in the memory of the daemon alone: it ends with its connection; ctxfs session export keeps it", p)
	}
	return usageError{fmt.Sprintf("%s is not a session: name one as AGENT/SESSION, or by its directory, .../agent/AGENT/session/SESSION", p)}
}

// openSession opens the session at a path of a store that is not mounted there, to look at.
func openSession(p string) (*session.Session, func(), error) {
	abs := mounts.Real(p)
	at, ok := placeOf(abs)
	if !ok || at.folder == temporary {
		return nil, nil, notASession(p, abs)
	}
	store, err := session.Open(at.root, session.Options{ReadOnly: true})
	if err != nil {
		return nil, nil, err
	}
	x, err := lookSession(store, at.container(), at.session)
	if errors.Is(err, fs.ErrPermission) && strings.HasPrefix(at.owner, "shared/") {
		err = &session.Error{Kind: session.Denied, Msg: "the store of a share is root's", Hint: "read context/pack.md, context/pack@N.md and context/recall/QUESTION of the session in the mount"}
	}
	if err != nil {
		_ = store.Close()
		return nil, nil, fmt.Errorf("%s: %w", p, err)
	}
	return x, func() { _ = store.Close() }, nil
}

func lookSession(store *session.Store, container, name string) (*session.Session, error) {
	c, err := store.Container(container)
	if err != nil {
		return nil, err
	}
	return c.Session(name)
}
