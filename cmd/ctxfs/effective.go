package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

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
	for key, name := range map[string]string{storeKey: envName("", storeKey), pointKey: envName("", pointKey)} {
		if e := lookup(files, "", key, ""); e.From == fromFile {
			if err := os.Setenv(name, e.Value); err != nil {
				return err
			}
		}
	}
	var errs []error
	for _, key := range knownSettings(cmd.Root())[section(cmd)] {
		if f := cmd.Flags().Lookup(key); f != nil && !f.Changed {
			errs = append(errs, setFlag(cmd.Flags(), lookup(files, section(cmd), key, "")))
		}
	}
	return errors.Join(errs...)
}

// toleratesSettings tells commands that are needed most when a file is wrong.
func toleratesSettings(cmd *cobra.Command) bool {
	return slices.Contains([]string{"", "config", "doctor", "umount", "version", "help", "gen man", "gen"}, section(cmd)) || cmd.Parent() != nil && cmd.Parent().Name() == "completion"
}

func setFlag(flags *pflag.FlagSet, e effective) error {
	if e.From == fromDefault {
		return nil
	}
	if e.Section == "mount" && e.Key == "options" {
		if err := onlyKernel(e.Value); err != nil {
			return usageError{fmt.Sprintf("%s: %v", e.origin(), err)}
		}
	}
	if err := flags.Set(e.Key, e.Value); err != nil {
		return usageError{fmt.Sprintf("%s: %v", e.origin(), err)}
	}
	return nil
}
