package supervise

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Notifier speaks to systemd (sd_notify(3)). A nil one says nothing.
type Notifier struct {
	fd   int
	addr unix.Sockaddr
}

// NotifyTo gives the notifier of a socket as $NOTIFY_SOCKET names it; nil when the name is empty.
func NotifyTo(name string) (*Notifier, error) {
	if name == "" {
		return nil, nil
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	return &Notifier{fd: fd, addr: &unix.SockaddrUnix{Name: name}}, nil // a leading @ is an abstract name to both
}

// say tells of a state, with a file to store when there is one. Nobody depends on its being heard.
func (n *Notifier) say(state string, f *os.File) {
	if n == nil {
		return
	}
	var rights []byte
	if f != nil {
		rights = unix.UnixRights(descriptor(f))
	}
	_ = unix.Sendmsg(n.fd, []byte(state), rights, n.addr, unix.MSG_NOSIGNAL)
}

// store has systemd hold a file for the service's next start; nil only drops the one of that name. FDPOLL=0: the end of a mount
// is for the supervisor to see.
func (n *Notifier) store(name string, f *os.File) {
	n.say("FDSTOREREMOVE=1\nFDNAME="+name, nil)
	if f != nil {
		n.say("FDSTORE=1\nFDPOLL=0\nFDNAME="+name, f)
	}
}

// Inherited gives the files that systemd held (sd_listen_fds(3)), where the process pid was started with some that a supervisor
// can go on with.
func Inherited(pid int, getenv func(string) string) (s State, ok bool) {
	const first = 3
	n, err := strconv.Atoi(getenv("LISTEN_FDS"))
	if err != nil || getenv("LISTEN_PID") != fmt.Sprint(pid) {
		return State{}, false
	}
	names := strings.Split(getenv("LISTEN_FDNAMES"), ":")
	s.Files = map[string]int{}
	for i := range min(n, len(names)) {
		s.Files[names[i]] = first + i
	}
	for _, need := range []string{Device, Region, Nodes} {
		if _, has := s.Files[need]; !has {
			return State{}, false
		}
	}
	return s, true
}
