package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func (m *method) missing() string {
	if m.command == "" {
		return ""
	}
	if _, err := exec.LookPath(m.command); err != nil {
		return m.command
	}
	return ""
}

// tools are the programs that ctxfs is held against.
func tools() []method {
	return []method{
		{"zstd -3, a file", "zstd", zstdEach("-3")},
		{"zstd -19, a file", "zstd", zstdEach("-19")},
		{"zstd -19 --long=27, a file", "zstd", zstdEach("-19", "--long=27")},
		{"zstd -19 --long=27, all in one stream (not seekable)", "zstd", zstdAll},
		{"restic", "restic", restic("auto")},
		{"restic --compression max", "restic", restic("max")},
		{"borg, zstd,3", "borg", borg("zstd,3")},
		{"borg, zstd,19", "borg", borg("zstd,19")},
	}
}

// list writes the names of the set's files to a file: there may be more than a command line takes.
func (s *set) list(dir string) (string, error) {
	name := filepath.Join(dir, "list")
	return name, os.WriteFile(name, []byte(strings.Join(s.files, "\n")+"\n"), 0o600)
}

// command runs a program in dir, and gives the processor time it took.
func command(dir string, in io.Reader, name string, args ...string) (time.Duration, error) {
	before := cpu(syscall.RUSAGE_CHILDREN)
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdin = dir, in
	// restic and borg keep a cache and a configuration in HOME: it is not the user's.
	cmd.Env = append(os.Environ(), "HOME="+os.TempDir(), "RESTIC_PASSWORD=x", "BORG_RELOCATED_REPO_ACCESS_IS_OK=yes",
		"BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes")
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return cpu(syscall.RUSAGE_CHILDREN) - before, nil
}

func zstdEach(args ...string) func(*set, string) (row, error) {
	return func(s *set, dir string) (r row, err error) {
		list, err := s.list(dir)
		if err != nil {
			return r, err
		}
		out, back := filepath.Join(dir, "out"), filepath.Join(dir, "back")
		r.ingest, err = command(s.dir, nil, "zstd", append(args, "-q", "-T1", "--filelist", list, "--output-dir-mirror", out)...)
		if err != nil {
			return r, err
		}
		if r.stored, err = size(out); err != nil {
			return r, err
		}
		start := time.Now()
		if _, err := command(out, nil, "zstd", "-q", "-d", "--long=27", "-r", ".", "--output-dir-mirror", back); err != nil {
			return r, err
		}
		r.restore = time.Since(start)
		return r, s.same(back)
	}
}

func zstdAll(s *set, dir string) (r row, err error) {
	in, closeAll, err := s.stream()
	if err != nil {
		return r, err
	}
	out := filepath.Join(dir, "all.zst")
	r.ingest, err = command(dir, in, "zstd", "-q", "-19", "--long=27", "-T1", "-o", out)
	if err := errors.Join(err, closeAll()); err != nil {
		return r, err
	}
	st, err := os.Stat(out)
	if err != nil {
		return r, err
	}
	r.stored = st.Size()
	start := time.Now()
	_, err = command(dir, nil, "zstd", "-q", "-d", "--long=27", out, "-o", filepath.Join(dir, "all"))
	r.restore = time.Since(start)
	return r, err
}

// stream gives all files one after another, opened one at a time.
func (s *set) stream() (io.Reader, func() error, error) {
	pr, pw := io.Pipe()
	go func() {
		for _, rel := range s.files {
			f, err := os.Open(filepath.Join(s.dir, rel))
			if err == nil {
				_, err = io.Copy(pw, f)
				err = errors.Join(err, f.Close())
			}
			if err != nil {
				pw.CloseWithError(err)
				return
			}
		}
		pw.Close()
	}()
	return pr, pr.Close, nil
}

func restic(level string) func(*set, string) (row, error) {
	return func(s *set, dir string) (r row, err error) {
		list, err := s.list(dir)
		if err != nil {
			return r, err
		}
		repo, back := filepath.Join(dir, "repo"), filepath.Join(dir, "back")
		run := func(args ...string) (time.Duration, error) {
			return command(s.dir, nil, "restic", append([]string{"-q", "--no-cache", "-r", repo}, args...)...)
		}
		if _, err := run("init"); err != nil {
			return r, err
		}
		if r.ingest, err = run("--compression", level, "backup", "--files-from-verbatim", list); err != nil {
			return r, err
		}
		if r.stored, err = size(repo); err != nil {
			return r, err
		}
		start := time.Now()
		_, err = run("restore", "latest", "--target", back)
		r.restore = time.Since(start)
		return r, err
	}
}

func borg(level string) func(*set, string) (row, error) {
	return func(s *set, dir string) (r row, err error) {
		repo, back := filepath.Join(dir, "repo"), filepath.Join(dir, "back")
		if err := os.Mkdir(back, 0o700); err != nil {
			return r, err
		}
		if _, err := command(dir, nil, "borg", "init", "-e", "none", repo); err != nil {
			return r, err
		}
		list := strings.NewReader(strings.Join(s.files, "\n") + "\n")
		if r.ingest, err = command(s.dir, list, "borg", "create", "-C", level, "--paths-from-stdin", repo+"::a"); err != nil {
			return r, err
		}
		if r.stored, err = size(repo); err != nil {
			return r, err
		}
		start := time.Now()
		if _, err := command(back, nil, "borg", "extract", repo+"::a"); err != nil {
			return r, err
		}
		r.restore = time.Since(start)
		return r, s.same(back)
	}
}
