package main

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ctxfs/internal/beneath"
	"ctxfs/internal/cas"
	"ctxfs/internal/session"

	"golang.org/x/sys/unix"
)

// exportMounted writes a session of a mount, by its files there: its owner needs no more than that.
func exportMounted(w io.Writer, dir string) error {
	st, err := os.Stat(filepath.Join(dir, session.Messages))
	if err != nil {
		return err
	}
	// Who exports may be root, and in the session's folders may be links that its owner made: they are not followed.
	in, err := beneath.Open(dir)
	if err != nil {
		return err
	}
	defer in.Close()
	e := &mountExporter{tarball: newTarball(w, st.ModTime()), dir: dir, in: in}
	for _, log := range []string{session.Messages, session.Events} {
		if err := e.log(log); err != nil {
			return err
		}
	}
	for _, name := range []string{"meta.json", "state", "cwd"} {
		if err := e.plain(name); err != nil {
			return err
		}
	}
	if err := e.tree("context"); err != nil {
		return err
	}
	if err := e.named(); err != nil {
		return err
	}
	return e.w.Close()
}

// exported records that a session left ctxfs (Agent Context, context.exported).
func exported(dir, form string) error {
	now := time.Now().UTC().Format(time.RFC3339Nano)
	return appendEvent(dir, "export-"+cas.Sum([]byte(dir + now)).String()[7:23], "context.exported", now, map[string]any{"what": "session", "format": form})
}

type mountExporter struct {
	tarball
	dir string
	in  *beneath.Dir // the same
}

// log writes a log's bytes, as long as it is now.
func (e *mountExporter) log(name string) error {
	f, err := e.in.OpenFile(name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	return e.stream(name, st.Size(), f)
}

func (e *mountExporter) plain(name string) error {
	data, err := e.in.ReadFile(name, 1<<30)
	if err != nil {
		return err
	}
	return e.file(name, data)
}

// tree writes what was written in a folder: what ctxfs itself shows there can be made again.
func (e *mountExporter) tree(name string) error {
	entries, err := e.in.ReadDir(name)
	if err != nil {
		return err
	}
	for _, d := range entries {
		sub := name + "/" + d.Name()
		switch {
		case d.IsDir() && (name != "context" || d.Name() == "pinned" || d.Name() == "child"):
			err = e.tree(sub)
		case d.Type().IsRegular() && !strings.HasPrefix(d.Name(), ".") && e.written(sub):
			err = e.plain(sub)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// written tells whether an agent or a person made a file.
func (e *mountExporter) written(name string) bool {
	var value [16]byte
	n, err := unix.Lgetxattr(filepath.Join(e.dir, name), "user.ctxfs.origin", value[:])
	return err == nil && string(value[:n]) == "written"
}

// named writes the blobs that the session names. An id that is no blob's is only text.
func (e *mountExporter) named() error {
	for _, id := range slices.Sorted(maps.Keys(e.blobs)) {
		data, err := e.in.ReadFile("context/dedup/blob/"+id, 1<<30)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = e.file("blob/"+id, data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
