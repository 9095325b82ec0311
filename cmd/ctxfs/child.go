package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ctxfs/internal/session"
	"ctxfs/internal/watch"
)

// childDir returns context/child/ID of a session. Its error is fs.ErrInvalid when id cannot be a child's name, and fs.ErrNotExist when
// the session is not there.
func childDir(dir, id string) (string, error) {
	if err := session.CheckName(id); err != nil {
		return "", fmt.Errorf("%w: %w", fs.ErrInvalid, err)
	}
	_, err := os.Stat(dir)
	return filepath.Join(dir, "context", "child", id), err
}

// readChild reads the files that link a child, by name.
func readChild(dir, id string) (map[string]string, error) {
	child, err := childDir(dir, id)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, name := range []string{"agent", "session", "handoff.md", "result.md", "status"} {
		data, err := os.ReadFile(filepath.Join(child, name)) // #nosec G304 -- in a session of the user's
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err == nil {
			files[name] = string(data)
		}
	}
	return files, nil
}

// writeChild writes files that link a child, in their order. Each is durable before the next.
func writeChild(dir, id string, files []watch.File) error {
	child, err := childDir(dir, id)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(child, 0o700); err != nil {
		return err
	}
	for _, file := range files {
		if err := writeSynced(filepath.Join(child, file.Name), file.Text); err != nil {
			return err
		}
	}
	return nil
}

func writeSynced(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) // #nosec G304 -- in a session of the user's
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// Child reads the files that link a child to a session.
func (t *watchTarget) Child(agent, name, id string) (map[string]string, error) {
	if err := t.mounted(); err != nil {
		return nil, err
	}
	return readChild(ownDir(t.point, agent, name), id)
}

// SetChild writes files that link a child to a session.
func (t *watchTarget) SetChild(agent, name, id string, files []watch.File) error {
	if err := t.mounted(); err != nil {
		return err
	}
	return writeChild(ownDir(t.point, agent, name), id, files)
}
