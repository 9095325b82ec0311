package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// peer is a file system that is measured: the one of the store itself, or a mount of it.
type peer struct {
	name string
	dir  string // where its client makes sessions
	kept string // where it shows the sessions of the store
	ours bool   // makes the files of a session itself
	user bool   // its client is an ordinary user

	point  string
	server *exec.Cmd
}

// mount starts the server of a peer, which shows itself at point in the foreground, and waits for it.
func (p *peer) mount(point string, argv ...string) error {
	p.point = point
	p.server = exec.Command(argv[0], argv[1:]...)
	if p.user {
		p.server.SysProcAttr = asUser()
	}
	var said bytes.Buffer
	p.server.Stderr = &said
	if err := p.server.Start(); err != nil {
		return err
	}
	for range 20_000 {
		if mounted(point) {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("%s: no mount within 20 s: %s", p.name, said.String())
}

// mounted tells whether something is mounted at point. It does not ask there: another user's FUSE mount tells root nothing.
func mounted(point string) bool {
	table, err := os.ReadFile("/proc/self/mountinfo")
	return err == nil && strings.Contains(string(table), " "+point+" ")
}

// end unmounts.
func (p *peer) end() error {
	if p.server == nil {
		return nil
	}
	argv := []string{"umount", p.point}
	if os.Geteuid() != 0 {
		argv = []string{"fusermount3", "-u", p.point}
	}
	err := exec.Command(argv[0], argv[1:]...).Run()
	if err == nil {
		err = p.server.Wait()
	}
	p.server = nil
	return err
}

// session makes one, with a log, and gives the log's path.
func (p *peer) session(name string) (string, error) {
	if p.name == "floor" {
		return filepath.Join(p.point, name), nil // it has a file at each name, and no folders
	}
	dir := filepath.Join(p.dir, name)
	log := filepath.Join(dir, "messages.jsonl")
	if err := p.as("mkdir", dir); err != nil || p.ours {
		return log, err
	}
	return log, p.as("touch", log)
}

// as runs a command as the peer's client.
func (p *peer) as(argv ...string) error {
	_, err := p.output(argv...)
	return err
}

func (p *peer) output(argv ...string) ([]byte, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	if p.user {
		cmd.SysProcAttr = asUser()
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w: %s", p.name, strings.Join(argv, " "), err, said.String())
	}
	return out, nil
}

// client has a client of the peer do an operation.
func (p *peer) client(op string, n int, files ...string) (timing, error) {
	var t timing
	out, err := p.output(append([]string{"/proc/self/exe", "client", op, fmt.Sprint(n)}, files...)...)
	if err != nil {
		return t, err
	}
	return t, json.Unmarshal(out, &t)
}

// nobody is the ordinary user, whom every Linux has.
const nobody = 65534

func asUser() *syscall.SysProcAttr {
	if os.Geteuid() != 0 {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, NoSetGroups: false}}
}

func userID() int {
	if os.Geteuid() != 0 {
		return os.Geteuid()
	}
	return nobody
}
