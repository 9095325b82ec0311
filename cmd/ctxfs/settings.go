package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ctxfs/internal/config"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// The host's file of settings, and the variable that names another.
const (
	systemConfig = "/etc/ctxfs/config"
	configEnv    = "CTXFS_CONFIG"
)

// Settings that are no flag of one command: the default store, and the mount that commands work on. They reach who asks for them by
// the environment.
const (
	storeKey = "store"
	pointKey = "mountpoint"
)

// settingsFile is a file of settings as it was read.
type settingsFile struct {
	path     string
	unread   error // why it was passed over: it is in a home that is another user's
	settings []config.Setting
}

// configFiles gives the user's file and the host's, in the order in which they count.
func configFiles() []string {
	system := os.Getenv(configEnv)
	if system == "" {
		system = systemConfig
	}
	dir, err := os.UserConfigDir()
	if err != nil { // a service has no home
		return []string{system}
	}
	return []string{filepath.Join(dir, "ctxfs", "config"), system}
}

// readSettings reads the files, and holds them to what the commands of root know. What is wrong, in whatever file, is one error, of
// a line each; what is right, and counts for this user, is given all the same.
func readSettings(root *cobra.Command) ([]settingsFile, error) {
	var files []settingsFile
	var errs []error
	known := knownSettings(root)
	paths := configFiles()
	for i, path := range paths {
		f, wrong := readFile(path, i == len(paths)-1, known)
		files, errs = append(files, f), append(errs, wrong...)
	}
	return files, errors.Join(errs...)
}

// readFile reads a file, the host's or the user's own. The user's may not be there, the host's neither, unless it was named.
func readFile(path string, host bool, known map[string][]string) (f settingsFile, wrong []error) {
	f.path = path
	data, owner, err := readTrusted(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && host && path == os.Getenv(configEnv):
		return f, []error{fmt.Errorf("%s, which %s names, is not there", path, configEnv)}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR) && !host:
		return f, nil
	case errors.Is(err, fs.ErrPermission) && !host: // of who became another user, and kept HOME
		f.unread = err
		return f, nil
	case err != nil:
		wrong = append(wrong, err)
	}
	parsed, err := config.Parse(data)
	wrong = append(wrong, prefixed(path, err)...)
	for _, s := range parsed {
		if err := unknownSetting(known, s); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: line %d: %w", path, s.Line, err))
			continue
		}
		if host && owner == 0 && os.Geteuid() != 0 && hasOnePlace(s.Section, s.Key) {
			continue
		}
		f.settings = append(f.settings, s)
	}
	return f, wrong
}

// hasOnePlace tells settings that name a place which not every user of a host can have: in the host's file they are root's.
func hasOnePlace(section, key string) bool {
	return slices.Contains([]string{" " + storeKey, "mount metrics", "gc textfile"}, section+" "+key)
}

// prefixed puts the name of a file before each line of an error.
func prefixed(path string, err error) []error {
	if err == nil {
		return nil
	}
	var out []error
	for _, line := range strings.Split(err.Error(), "\n") {
		out = append(out, fmt.Errorf("%s: %s", path, line))
	}
	return out
}

// readTrusted reads a file that only its reader or root can have written, and tells whose it is: a setting may be a command to run.
// What is no regular file, like /dev/null, is empty.
func readTrusted(path string) (data []byte, owner uint32, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // #nosec G304 -- the user's own
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, 0, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, st.Uid, nil
	}
	if st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return nil, st.Uid, fmt.Errorf("%s: it belongs to user %d, and is not believed (chown it, or set HOME or XDG_CONFIG_HOME)", path, st.Uid)
	}
	if st.Mode&0o022 != 0 {
		return nil, st.Uid, fmt.Errorf("%s: others may write to it, and it is not believed (chmod go-w %s)", path, path)
	}
	data, err = io.ReadAll(io.LimitReader(f, config.MaxSize+1))
	return data, st.Uid, err
}

// section is a command's, "mount" or "session list"; "" is that of settings that are no flags.
func section(cmd *cobra.Command) string {
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	return name
}

// knownSettings gives the keys of each section: the flags that are habits, and not what one call is about.
func knownSettings(root *cobra.Command) map[string][]string {
	known := map[string][]string{"": {storeKey, pointKey}}
	eachCommand(root, func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if isHabit(f) && !slices.Contains([]string{"", "config", "doctor", "version"}, section(c)) {
				known[section(c)] = append(known[section(c)], f.Name)
			}
		})
	})
	return known
}

// eachCommand visits the commands below root that users see, in the order of the help.
func eachCommand(root *cobra.Command, visit func(*cobra.Command)) {
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			visit(c)
			eachCommand(c, visit)
		}
	}
}

// isHabit tells flags that can stand in a file from those that say what one call is about, how its output is to be read, or yes.
func isHabit(f *pflag.Flag) bool {
	return !f.Hidden && !slices.Contains([]string{
		"after", "at", "content", "cwd", "dry-run", "each-line", "explain", "fake", "file", "filter", "follow", "from", "group", "help", "id", "json", "lazy", "list", "model", "mount",
		"native-id", "no-event", "once", "output", "query", "repair", "resume-in", "session", "share", "store", "temp", "version", "yes",
	}, f.Name)
}

// unknownSetting tells why a line of a file cannot be.
func unknownSetting(known map[string][]string, s config.Setting) error {
	keys, ok := known[s.Section]
	switch {
	case !ok:
		return fmt.Errorf("[%s] is no section: it is named like a command that has settings (see: ctxfs config --example)", s.Section)
	case slices.Contains(keys, s.Key):
		if s.Section == "" && !filepath.IsAbs(s.Value) {
			return fmt.Errorf("%s is an absolute path, not %q", s.Key, s.Value)
		}
		return nil
	case s.Section == "":
		return fmt.Errorf("%s is not known above the first [section]: %s", s.Key, strings.Join(keys, ", "))
	}
	return fmt.Errorf("%s is not known in [%s]: %s", s.Key, s.Section, strings.Join(keys, ", "))
}

// envName is the variable of the environment that a setting has: of budget in [mount], CTXFS_MOUNT_BUDGET.
func envName(section, key string) string {
	switch {
	case section != "":
		key = section + "_" + key
	case key == pointKey:
		key = "mount"
	}
	return "CTXFS_" + strings.ToUpper(strings.NewReplacer("-", "_", " ", "_").Replace(key))
}
