package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"ctxfs/internal/beneath"
	"ctxfs/internal/cas"
	"ctxfs/internal/chunkstore"
	"ctxfs/internal/mounts"
	"ctxfs/internal/session"

	"github.com/spf13/cobra"
)

func newSessionExport() *cobra.Command {
	var out string
	var quiet bool
	cmd := &cobra.Command{
		Use: "export SESSION-PATH", Short: "write a session, whole, as a tar file",
		Long: `Write a session as a tar file: its logs byte for byte, its control files, what agents wrote under context/, and under blob/
the pictures and documents that its records name. What ctxfs derives is left out: it can be built again.
ctxfs session restore --from FILE SESSION-PATH makes a session of it. In a mount an event of the session, context.exported,
tells that it was written.`,
		Example: "  ctxfs session export /ctx/home/1000/agent/coder/session/fix-42 -o fix-42.tar", Args: exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			export := func(w io.Writer, dir string) error {
				if err := exportMounted(w, dir); err != nil || quiet {
					return err
				}
				return exported(dir)
			}
			if !inMount(mounts.Real(args[0])) {
				x, done, err := openSession(args[0])
				if err != nil {
					return err
				}
				defer done()
				export = func(w io.Writer, _ string) error { return exportSession(w, x) }
			}
			if out == "" || out == "-" {
				return export(cmd.OutOrStdout(), args[0])
			}
			return toFile(out, func(w io.Writer) error { return export(w, args[0]) })
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write (default: standard output)")
	cmd.Flags().BoolVar(&quiet, "no-event", false, "do not record in events.jsonl that the session was exported")
	return cmd
}

// toFile writes a new file in one step: after a failure there is none.
func toFile(name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".ctxfs-export-")
	if err != nil {
		return err
	}
	err = write(f)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// tarball is an exported session while it is written.
type tarball struct {
	w     *tar.Writer
	at    time.Time
	blobs map[string]bool // named in what was written
}

// exporter writes a session of a store that is not mounted.
type exporter struct {
	tarball
	x     *session.Session
	store *session.Store
}

func exportSession(w io.Writer, x *session.Session) error {
	at, err := x.Updated()
	if err != nil {
		return err
	}
	e := &exporter{tarball: newTarball(w, at), x: x, store: x.Store()}
	for _, log := range []string{session.Messages, session.Events} {
		if err := e.log(log); err != nil {
			return err
		}
	}
	for _, name := range []string{"meta.json", "state", "cwd"} {
		data, err := x.ReadControl(name)
		if err != nil {
			return err
		}
		if err := e.file(name, data); err != nil {
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

// log writes a log's bytes, as long as it is now.
func (e *exporter) log(name string) error {
	log, err := e.x.Log(name)
	if err != nil {
		return err
	}
	defer e.x.Release()
	return e.stream(name, log.Size(), log)
}

// tree writes the plain files of a folder: what agents and people wrote.
func (e *exporter) tree(name string) error {
	rel := path.Join(e.x.Rel(), name)
	entries, err := e.store.Dir().ReadDir(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, d := range entries {
		sub := path.Join(name, d.Name())
		switch {
		case d.IsDir():
			err = e.tree(sub)
		case d.Type().IsRegular() && !strings.HasPrefix(d.Name(), beneath.TempPrefix):
			var data []byte
			if data, err = e.store.Dir().ReadFile(path.Join(e.x.Rel(), sub), 1<<30); err == nil {
				err = e.file(sub, data)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// named writes the blobs that the records name.
func (e *exporter) named() error {
	blobs, err := session.OpenCold(e.store.Dir(), session.OwnerRel(e.x.Rel()), chunkstore.Options{ReadOnly: true})
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the owner has none
	}
	if err != nil {
		return err
	}
	defer blobs.Close()
	return blobs.Each(func(id cas.ID, _ int64) error {
		if !e.blobs[id.String()] {
			return nil
		}
		data, err := blobs.Get(id)
		if err != nil {
			return err
		}
		return e.file("blob/"+id.String(), data)
	}, nil)
}

func newTarball(w io.Writer, at time.Time) tarball {
	return tarball{w: tar.NewWriter(w), at: at.Truncate(time.Second), blobs: map[string]bool{}}
}

// stream writes a file of that size.
func (t *tarball) stream(name string, size int64, r io.ReaderAt) error {
	err := t.w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: t.at, Format: tar.FormatPAX})
	if err != nil {
		return err
	}
	_, err = io.Copy(io.MultiWriter(t.w, &blobScan{found: t.blobs}), io.NewSectionReader(r, 0, size))
	return err
}

func (t *tarball) file(name string, data []byte) error {
	return t.stream(name, int64(len(data)), bytes.NewReader(data))
}

// blobScan collects the blob ids in what is written to it.
type blobScan struct {
	found map[string]bool
	rest  []byte
}

var blobID = regexp.MustCompile(`blake3-[0-9a-f]{64}`)

func (b *blobScan) Write(p []byte) (int, error) {
	const idLen = len("blake3-") + 64
	b.rest = append(b.rest, p...)
	for _, id := range blobID.FindAll(b.rest, -1) {
		b.found[string(id)] = true
	}
	b.rest = append(b.rest[:0], b.rest[max(0, len(b.rest)-idLen+1):]...)
	return len(p), nil
}

// ownSession reads the path of a session of the caller's in a mount.
func ownSession(p string) (point, agent, name string, ok bool) {
	m := sessionPathRe.FindStringSubmatch(p)
	if m == nil {
		return "", "", "", false
	}
	agent, ok = strings.CutPrefix(m[2], fmt.Sprintf("home/%d/agent/", os.Getuid()))
	return m[1], agent, m[3], ok
}

// restoreFrom makes a session, in a mount, of an exported one.
func restoreFrom(file, dir string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	point, agent, name, ok := ownSession(mounts.Real(dir))
	if !ok {
		return usageError{fmt.Sprintf("%s is not a session's directory of yours in a mount: MOUNTPOINT/home/%d/agent/<agent>/session/<session>", dir, os.Getuid())}
	}
	if err := mountError(point); err != nil {
		return err
	}
	t := tar.NewReader(in)
	first, err := t.Next()
	if err != nil { // before a session is made of it
		return fmt.Errorf("%s is not an exported session: %w", file, err)
	}
	to, err := newMountTarget(point)
	if err != nil {
		return err
	}
	defer to.close()
	s, err := to.create(agent, name)
	if err != nil {
		return err
	}
	r := &restorer{sink: s, dir: s.dir}
	err = errors.Join(r.all(t, first), s.close())
	if err == nil && r.shown != nil {
		err = os.WriteFile(filepath.Join(s.dir, session.Injections), r.shown, 0o600)
	}
	return err
}

// restorer reads one tar file into a session. Logs go through its sink; the rest are ordinary writes below dir.
type restorer struct {
	sink  *sink
	dir   string
	shown []byte // injections.jsonl, which is taken once the blobs are there that it names
}

// all restores the file h and those behind it.
func (r *restorer) all(t *tar.Reader, h *tar.Header) error {
	for {
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name) {
			return fmt.Errorf("not an exported session: it holds %s", printable(h.Name))
		}
		if err := r.one(h.Name, t); err != nil {
			return fmt.Errorf("%s: %w", printable(h.Name), err)
		}
		var err error
		if h, err = t.Next(); err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("not an exported session: %w", err)
		}
	}
}

func (r *restorer) one(name string, t io.Reader) error {
	if name == session.Messages || name == session.Events {
		return eachLine(t, func(line []byte) error {
			if name == session.Messages {
				return r.sink.Message(line)
			}
			return r.sink.Event(line)
		})
	}
	data, err := io.ReadAll(io.LimitReader(t, 1<<30))
	if err != nil {
		return err
	}
	if id, ok := strings.CutPrefix(name, "blob/"); ok {
		if !cas.Matches(id, data) {
			return cas.ErrCorrupt
		}
		_, err := r.sink.Blob(data)
		return err
	}
	switch name {
	case session.Injections:
		r.shown = data
		return nil
	case "meta.json", "cwd", "state":
		return nil // the new session has its own identity, its agent's root, and nothing that runs
	}
	full := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		return err
	}
	return os.WriteFile(full, data, 0o600)
}

// eachLine calls fn with every line, without its '\n'.
func eachLine(r io.Reader, fn func(line []byte) error) error {
	b := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := b.ReadBytes('\n')
		if len(line) > 0 {
			if ferr := fn(bytes.TrimSuffix(line, []byte{'\n'})); ferr != nil {
				return ferr
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
