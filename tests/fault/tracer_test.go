//go:build linux && amd64

package fault

import (
	"errors"
	"fmt"
	"net/rpc"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// tracer is a process that does nothing but trace.
//
// This one must not trace: it uses the mounts of what is traced. Go adds a file that it opens to its epoll set, and forks, without
// giving its processor away. The first has the kernel ask the file system whether one can poll the file; the second, in the
// child, closes others' files, which has the kernel flush them. Both wait for the traced daemon, that waits for its tracer, that
// would wait for a processor.
type tracer struct {
	cmd *exec.Cmd
	rpc *rpc.Client
}

// tracerEnv has the test's executable be such a process.
const tracerEnv = "CTXFS_FAULT_TRACER"

func startTracer(j Job) (*tracer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	t := &tracer{cmd: exec.Command(self)}
	t.cmd.Env = append(os.Environ(), tracerEnv+"=1")
	t.cmd.Stderr = os.Stderr
	in, err := t.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := t.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	t.rpc = rpc.NewClient(duplex{out, in})
	var none int
	if err := t.rpc.Call("Trace.Begin", j, &none); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// close kills whatever is still traced.
func (t *tracer) close() {
	_ = t.cmd.Process.Kill() // PTRACE_O_EXITKILL
	_ = t.rpc.Close()
	_ = t.cmd.Wait() // it was killed
}

// process is a traced program.
type process struct {
	pid  int
	done chan struct{} // closed at its end, and that of all it started
	ws   unix.WaitStatus
	err  error
}

func (t *tracer) start(args ...string) (*process, error) {
	p := &process{done: make(chan struct{})}
	if err := t.rpc.Call("Trace.Start", args, &p.pid); err != nil {
		return nil, hung(err)
	}
	go func() {
		defer close(p.done)
		p.err = hung(t.rpc.Call("Trace.Wait", p.pid, &p.ws))
	}()
	return p, nil
}

// end waits for it; the error is an exit code that is not 0.
func (p *process) end() error {
	<-p.done
	switch {
	case p.err != nil:
		return p.err
	case p.ws.Signaled():
		return fmt.Errorf("%w: %v", errCrash, p.ws.Signal())
	case p.ws.ExitStatus() != 0:
		return fmt.Errorf("exit code %d", p.ws.ExitStatus())
	}
	return nil
}

// errHang is that something did not end in time: what hung, the programs' output tells.
var errHang = errors.New("it hangs")

// hung says what it is when the process that traces is gone.
func hung(err error) error {
	if answer := rpc.ServerError(""); err == nil || errors.As(err, &answer) {
		return err
	}
	return errHang
}

// ask calls a method without an argument; the zero value is the answer of a process that is gone.
func ask[T any](t *tracer, method string) (v T) {
	_ = t.rpc.Call("Trace."+method, 0, &v) // a hang shows elsewhere
	return v
}
