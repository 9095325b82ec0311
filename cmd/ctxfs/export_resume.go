package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"ctxfs/internal/importer"
)

// resumeIn writes the session at p as a log of Claude Code to where `claude --resume`, run in the folder dir, looks for it, and
// prints that command. It never writes over a log: Claude Code may have gone on in it.
func resumeIn(stdout, stderr io.Writer, p, dir string) error {
	dir, err := projectFolder(dir)
	if err != nil {
		return err
	}
	var log bytes.Buffer
	id, err := exportMessages(&log, stderr, p, exportOptions{form: "claude-code", cwd: dir})
	if err != nil {
		return err
	}
	id = importer.ClaudeSession(id)
	home, err := claudeHome()
	if err != nil {
		return err
	}
	name := filepath.Join(home, "projects", claudeProject(dir), id+".jsonl")
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	if err := toNewFile(name, log.Bytes()); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("%s: Claude Code has this session already (claude --resume %s); remove the file to replace it", name, id)
		}
		return err
	}
	_, err = fmt.Fprintf(stdout, "cd %s && claude --resume %s\n", shellWord(dir), id)
	return err
}

// projectFolder returns the path under which a program in the folder dir knows it.
func projectFolder(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", fmt.Errorf("--resume-in names the folder that claude --resume will run in: %w", err)
	}
	if st, err := os.Stat(abs); err != nil || !st.IsDir() {
		return "", errors.Join(fmt.Errorf("--resume-in %s: no folder", dir), err)
	}
	return abs, nil
}

// claudeHome returns the folder that Claude Code keeps its data in.
func claudeHome() (string, error) {
	home, err := os.UserHomeDir()
	return orElse(os.Getenv("CLAUDE_CONFIG_DIR"), filepath.Join(home, ".claude")), err
}

// claudeProject returns the name of the folder in which Claude Code keeps the logs of the project at path: each character but
// letters and digits of ASCII is a -, and a name above 200 characters is cut and ends in a hash of the path. Characters are
// UTF-16's.
func claudeProject(path string) string {
	units := utf16.Encode([]rune(path))
	name := make([]byte, len(units))
	hash := int32(0)
	for i, u := range units {
		name[i] = '-'
		if u < 128 && (u >= '0' && u <= '9' || u|0x20 >= 'a' && u|0x20 <= 'z') {
			name[i] = byte(u)
		}
		hash = hash*31 + int32(u)
	}
	if len(name) <= 200 {
		return string(name)
	}
	return string(name[:200]) + "-" + strconv.FormatInt(max(int64(hash), -int64(hash)), 36)
}

// toNewFile writes a file that is not there, whole or not at all. A file with the same bytes is left as it is.
func toNewFile(name string, data []byte) error {
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, data) {
		return nil
	}
	temp, err := os.CreateTemp(filepath.Dir(name), ".ctxfs-export-")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	return os.Link(temp.Name(), name)
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./~+:@%-]+$`)

// shellWord returns s as one word of a shell.
func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
