package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ctxfs/internal/config"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Every flag of mount is a setting, but for the one that says what a call is about; its store is the one of all commands.
func TestMountFlagsAreSettings(t *testing.T) {
	known := knownSettings(newRoot("ctxfs"))
	newMount().Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "fake" || f.Name == "store" && slices.Contains(known[""], storeKey) {
			return
		}
		if !slices.Contains(known["mount"], f.Name) {
			t.Errorf("--%s of ctxfs mount is no setting", f.Name)
		}
	})
}

// The example tells of every setting; what it says, without the comment, is a file that is understood and changes nothing.
func TestExampleIsWhole(t *testing.T) {
	var out strings.Builder
	root := newRoot("ctxfs")
	if err := writeExample(&out, root); err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?m)^#([a-z-]+ =)`).ReplaceAllString(out.String(), "$1")
	text = strings.Replace(text, "\nstore =\n", "\nstore = /s\n", 1)
	settings, err := config.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, keys := range knownSettings(root) {
		n += len(keys)
	}
	if len(settings) != n {
		t.Errorf("%d settings, and %d in the example", n, len(settings))
	}
	file := settingsFile{path: "example", settings: settings}
	for _, s := range settings {
		if err := unknownSetting(knownSettings(root), s); err != nil {
			t.Error(err)
		}
	}
	if _, err := effectiveSettings(root, []settingsFile{file}); err != nil {
		t.Error(err)
	}
}

// No two settings have one variable, and none is one that ctxfs uses itself.
func TestEnvNames(t *testing.T) {
	taken := map[string]string{configEnv: "itself", readyEnv: "itself", workerEnv: "itself", renewEnv: "itself"}
	for section, keys := range knownSettings(newRoot("ctxfs")) {
		for _, key := range keys {
			name := envName(section, key)
			if taken[name] != "" {
				t.Errorf("%s: [%s] %s and %s", name, section, key, taken[name])
			}
			taken[name] = section + " " + key
		}
	}
	for name, want := range map[string]string{"CTXFS_MOUNT": " mountpoint", "CTXFS_STORE": " store", "CTXFS_MOUNT_QUOTA_FILES": "mount quota-files"} {
		if taken[name] != want {
			t.Errorf("%s is %q", name, taken[name])
		}
	}
}

// The command line counts before the environment, that before the user's file, that before the host's.
func TestPrecedence(t *testing.T) {
	home, system := t.TempDir(), filepath.Join(t.TempDir(), "config")
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv(configEnv, system)
	t.Setenv("CTXFS_STORE", "")
	user := filepath.Join(home, "ctxfs", "config")
	if err := os.Mkdir(filepath.Dir(user), 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		system: "store = /host\n[mount]\nbudget = 1\nquota = 1G\ntokenizer = r50k_base\nsync = close\noptions = nosuid,nodev\n",
		user:   "store = /user\n[mount]\nbudget = 2\nquota = 2G\ntokenizer = p50k_base\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("CTXFS_MOUNT_BUDGET", "3")
	t.Setenv("CTXFS_MOUNT_QUOTA", "3G")
	got := map[string]string{}
	root := newRoot("ctxfs")
	root.SetArgs([]string{"mount", "/none", "--budget", "4"})
	mount, _, err := root.Find([]string{"mount"})
	if err != nil {
		t.Fatal(err)
	}
	mount.RunE = func(c *cobra.Command, _ []string) error {
		c.Flags().VisitAll(func(f *pflag.Flag) { got[f.Name] = f.Value.String() })
		got["store"] = defaultStore()
		return nil
	}
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"budget": "4", "quota": "3G", "tokenizer": "p50k_base", "sync": "close", "store": "/user", "options": "[nosuid,nodev]", "quota-files": "0",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

// No setting stands in the way of a flag of the command line: `explain` of [pack] would be one that `pack --json` is refused for.
func TestSettingsExcludeNothing(t *testing.T) {
	eachSetting(newRoot("ctxfs"), func(c *cobra.Command, f *pflag.Flag) {
		if with := f.Annotations["cobra_annotation_mutually_exclusive"]; len(with) > 0 {
			t.Errorf("%s of [%s] excludes %q", f.Name, section(c), with)
		}
	})
}
