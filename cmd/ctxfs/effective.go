package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Where a value comes from.
const (
	fromDefault = "default"
	fromEnv     = "environment"
	fromFile    = "file"
)

// effective is a setting with the value that counts.
type effective struct {
	Section string `json:"section"`
	Key     string `json:"key"`
	Value   string `json:"value"`
	From    string `json:"from"`           // fromDefault, fromEnv or fromFile
	Name    string `json:"name,omitempty"` // the variable, or the file
	Line    int    `json:"line,omitempty"`
}

// origin names where a value comes from, for people.
func (e effective) origin() string {
	switch e.From {
	case fromFile:
		return fmt.Sprintf("%s:%d", e.Name, e.Line)
	case fromEnv:
		return e.Name
	}
	return e.From
}

// lookup gives the value of a setting: of the environment, of the first file that has it, else the default.
func lookup(files []settingsFile, section, key, otherwise string) effective {
	e := effective{Section: section, Key: key, Value: otherwise, From: fromDefault}
	name := envName(section, key)
	if v, ok := os.LookupEnv(name); ok && v != "" {
		e.Value, e.From, e.Name = v, fromEnv, name
		return e
	}
	for _, f := range files {
		for _, s := range f.settings {
			if s.Section == section && s.Key == key {
				e.Value, e.From, e.Name, e.Line = s.Value, fromFile, f.path, s.Line
				return e
			}
		}
	}
	return e
}

// applySettings gives a command's flags what the environment and the files say, where the command line says nothing.
func applySettings(cmd *cobra.Command) error {
	if isWorker() || renewed() || toleratesSettings(cmd) {
		return nil // who started those two said all of it
	}
	files, err := readSettings(cmd.Root())
	if err != nil {
		return usageError{err.Error()}
	}
	if err := setPlaces(files); err != nil {
		return err
	}
	return setFlags(cmd, files)
}

// setPlaces puts the store and the mountpoint that the files name into the environment, where commands look for them.
func setPlaces(files []settingsFile) error {
	for key, name := range map[string]string{storeKey: envName("", storeKey), pointKey: envName("", pointKey)} {
		if e := lookup(files, "", key, ""); e.From == fromFile {
			if err := os.Setenv(name, e.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// setFlags sets the flags of a command that the command line says nothing of.
func setFlags(cmd *cobra.Command, files []settingsFile) error {
	fresh, _, err := newRoot(cmd.Root().Name()).Find(strings.Fields(section(cmd)))
	if err != nil {
		return err
	}
	var errs []error
	for _, key := range knownSettings(cmd.Root())[section(cmd)] {
		e := lookup(files, section(cmd), key, "")
		if f := cmd.Flags().Lookup(key); f == nil || f.Changed || e.From == fromDefault {
			continue
		}
		err := wrongValue(fresh, e)
		if err == nil {
			err = setFlag(cmd.Flags(), e)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// toleratesSettings tells commands that are needed most when a file is wrong.
func toleratesSettings(cmd *cobra.Command) bool {
	return slices.Contains([]string{"", "config", "doctor", "umount", "version", "help", "gen man", "gen"}, section(cmd)) || cmd.Parent() != nil && cmd.Parent().Name() == "completion"
}

// wrongValue tells why a value cannot be, and whose line it is: c, which has no other flag set, says so of it. It leaves c as it was.
func wrongValue(c *cobra.Command, e effective) error {
	if e.From == fromDefault {
		return nil
	}
	err := setFlag(c.Flags(), e)
	if err == nil && c.PreRunE != nil {
		err = c.PreRunE(c, nil)
	}
	f := c.Flags().Lookup(e.Key)
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return named(e, errors.Join(err, list.Replace(nil)))
	}
	return named(e, errors.Join(err, f.Value.Set(f.DefValue)))
}

// named puts where a value comes from before what is wrong with it.
func named(e effective, err error) error {
	if err == nil {
		return nil
	}
	return usageError{fmt.Sprintf("%s: %v", e.origin(), err)}
}

// setFlag gives a flag a value. It is none of the command line's: what flags exclude each other there is another question.
func setFlag(flags *pflag.FlagSet, e effective) error {
	if e.Section == "mount" && e.Key == "options" {
		if err := onlyKernel(e.Value); err != nil {
			return err
		}
	}
	if err := flags.Set(e.Key, e.Value); err != nil {
		return wrongFlagValue(err)
	}
	flags.Lookup(e.Key).Changed = false
	return nil
}
