package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestEveryFlagCompletes: the shell knows what to offer for each flag that takes a value, also where that is nothing, and never offers
// files for an argument that is none.
func TestEveryFlagCompletes(t *testing.T) {
	root := newRoot("ctxfs")
	completeAll(root)
	used := map[string]bool{}
	for _, c := range commands() {
		c, _, err := root.Find(strings.Fields(section(c)))
		if err != nil {
			t.Fatal(err)
		}
		if c.ValidArgsFunction == nil {
			t.Errorf("%s: its arguments have no completion", c.CommandPath())
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			used[section(c)+" "+f.Name], used[f.Name] = true, true
			_, ok := c.GetFlagCompletionFunc(f.Name)
			if takes := f.Value.Type() != "bool"; ok != takes {
				t.Errorf("%s --%s: completed %v, want %v", c.CommandPath(), f.Name, ok, takes)
			}
		})
	}
	for name := range flagValues() {
		if !used[name] {
			t.Errorf("there is a completion for %q, and no such flag", name)
		}
	}
}
