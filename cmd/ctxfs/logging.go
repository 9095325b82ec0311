package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"

	"ctxfs/internal/logs"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// logFlags say how a daemon, or what cron runs, tells what happens.
type logFlags struct{ format, level string }

func (f *logFlags) add(fl *pflag.FlagSet, level string) {
	fl.StringVar(&f.format, "log-format", logs.Text, "what is logged to standard error: text or json, a line each")
	fl.StringVar(&f.level, "log-level", level, "log what is as grave, or more: debug, info, warn or error")
}

// logger is that of standard error.
func (f *logFlags) logger() (*slog.Logger, error) {
	level, err := logs.ParseLevel(f.level)
	if err != nil {
		return nil, usageError{"--log-level: " + err.Error()}
	}
	journal, file := whereTo(os.Stderr, os.Getenv("JOURNAL_STREAM"))
	l, err := logs.New(os.Stderr, logs.Options{Format: f.format, Level: level, Journal: journal, Time: file})
	if err != nil {
		return nil, usageError{"--log-format: " + err.Error()}
	}
	return l, nil
}

// whereTo tells whether a file is the journal's, as $JOURNAL_STREAM names it by device and inode (systemd.exec(5)), or a plain file.
func whereTo(f *os.File, stream string) (journal, file bool) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return false, false
	}
	return stream == fmt.Sprintf("%d:%d", st.Dev, st.Ino), st.Mode&unix.S_IFMT == unix.S_IFREG
}

// args are the flags again, where they are not the default.
func (f *logFlags) args() (args []string) {
	if f.format != logs.Text {
		args = append(args, "--log-format", f.format)
	}
	if f.level != "info" {
		args = append(args, "--log-level", f.level)
	}
	return args
}

// fail logs why the work ends, where programs read the log: else that is printed at the end.
func (f *logFlags) fail(log *slog.Logger, err error) error {
	if err == nil || f.format != logs.JSON {
		return err
	}
	for _, line := range strings.Split(err.Error(), "\n") { // errors that were joined are a line each
		log.Error(line)
	}
	return logged{err}
}

// logged is an error that was told.
type logged struct{ error }

func (l logged) Unwrap() error { return l.error }
