package main

import (
	"archive/tar"
	"bytes"
	"errors"
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
	var out, form, resume string
	var quiet, content bool
	cmd := &cobra.Command{
		Use: "export SESSION", Short: "write a session, whole, as a tar file, or its messages in another program's form",
		Long: `Write a session as a tar file: its logs byte for byte, its control files, what agents wrote under context/, and under blob/
the pictures and documents that its records name. What ctxfs derives is left out: it can be built again.
ctxfs session restore --from FILE SESSION makes a session of it. Secrets are not masked, in no form.

With --format, write its messages as those of OpenAI's or Anthropic's API (openai, anthropic), as a log of Claude Code
(claude-code), for people to read (markdown), or as log records of OpenTelemetry, with the attributes of its conventions for
generative AI (otel): models, tokens, calls, and what was said with --content only. Pictures are written with their data. A line
on stderr counts what the form has no place for; docs/import.md has the fields that come back when it is imported.

With --resume-in DIR, write a log of Claude Code to where Claude Code looks for the sessions of the folder DIR, and print the
command that resumes it there: a session of any program goes on in Claude Code.

In a mount an event of the session, context.exported, tells that it was written.`,
		Example: "  ctxfs session export /ctx/home/1000/agent/coder/session/fix-42 -o fix-42.tar\n  ctxfs session export . --format openai | jq '.messages | length'\n  ctxfs session export . --format markdown | less\n  ctxfs session export . --format otel -o /var/log/otel/fix-42.jsonl\n  ctxfs session export . --resume-in ~/brewlog",
		Args:    exactArgs(1),
		PreRunE: func(*cobra.Command, []string) error { return checkForm(form) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if resume != "" && (cmd.Flags().Changed("format") || cmd.Flags().Changed("output")) { // a setting counts less, and is passed over
				return usageError{"--resume-in says the format and the file by itself: leave --format and --output out"}
			}
			if resume != "" {
				form = "claude-code"
			}
			if content && form != "otel" {
				return usageError{"--content is for --format otel: other forms are of what was said"}
			}
			export := func(w io.Writer, dir string) error {
				if form != tarFormat {
					_, err := exportMessages(w, cmd.ErrOrStderr(), dir, exportOptions{form: form, content: content})
					return err
				}
				bar := newProgress(cmd.ErrOrStderr(), "export", -1, true)
				defer bar.end()
				return exportWhole(io.MultiWriter(w, bar), dir)
			}
			var err error
			if resume != "" {
				err = resumeIn(cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0], resume)
			} else if out == "" || out == "-" {
				err = export(cmd.OutOrStdout(), args[0])
			} else {
				err = toFile(out, func(w io.Writer) error { return export(w, args[0]) })
			}
			if err != nil || quiet || !inMount(mounts.Real(args[0])) {
				return err
			}
			return exported(args[0], form)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write, whole or not at all, or a pipe (default: standard output)")
	cmd.Flags().StringVar(&form, "format", tarFormat, "tar, openai, anthropic, claude-code, markdown or otel")
	cmd.Flags().StringVar(&resume, "resume-in", "", "folder of a project in which Claude Code is to resume the session")
	cmd.Flags().BoolVar(&content, "content", false, "with --format otel: what was said, too")
	cmd.Flags().BoolVar(&quiet, "no-event", false, "do not record in events.jsonl that the session was exported")
	return takesSession(cmd, findSession)
}

// exportWhole writes a session as a tar file.
func exportWhole(w io.Writer, dir string) error {
	if inMount(mounts.Real(dir)) {
		return exportMounted(w, dir)
	}
	x, done, err := openSession(dir)
	if err != nil {
		return err
	}
	defer done()
	return exportSession(w, x)
}

// toFile writes a new file in one step: after a failure there is none. What stands there and is no regular file, as a pipe, /dev/null or
// a link, stays what it is, and is written into.
func toFile(name string, write func(io.Writer) error) error {
	if st, err := os.Lstat(name); err == nil && !st.Mode().IsRegular() {
		return into(name, write)
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".ctxfs-export-")
	if temp := (*fs.PathError)(nil); errors.As(err, &temp) { // the caller never named that
		return &fs.PathError{Op: "create", Path: name, Err: temp.Err}
	}
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

func into(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
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
