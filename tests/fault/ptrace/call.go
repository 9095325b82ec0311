//go:build linux && amd64

package ptrace

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// Call is one system call of a traced thread.
type Call struct {
	Tid  int
	Name string
	Args [6]uint64
	Path string // of the file that it is about, as far as can be told; "": none
	To   string // of the second one, of a rename or a link
	Size uint64 // bytes that it asks to move
	Gone bool   // the file that it has open has no name any more
	regs unix.PtraceRegs
}

func (c *Call) fill(k kind) {
	r := &c.regs
	c.Name, c.Args = k.name, [6]uint64{r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8, r.R9}
	if k.size >= 0 {
		c.Size = c.Args[k.size]
	}
	switch {
	case k.path >= 0:
		c.Path = c.pathAt(c.Args[k.fd], c.Args[k.path])
	case k.fd >= 0:
		c.Path = c.fdPath(c.Args[k.fd])
		c.Path, c.Gone = strings.CutSuffix(c.Path, " (deleted)")
	}
	if k.to >= 0 {
		c.To = c.pathAt(c.Args[k.to], c.Args[k.to+1])
	}
}

func (c *Call) setArg(i int, v uint64) {
	*[]*uint64{&c.regs.Rdi, &c.regs.Rsi, &c.regs.Rdx, &c.regs.R10, &c.regs.R8, &c.regs.R9}[i] = v
}

// fdPath is what a descriptor has open.
func (c *Call) fdPath(fd uint64) string {
	name := "cwd"
	if int32(fd) != unix.AT_FDCWD {
		name = fmt.Sprintf("fd/%d", int32(fd))
	}
	p, _ := os.Readlink(fmt.Sprintf("/proc/%d/%s", c.Tid, name)) // none: no file
	return p
}

func (c *Call) pathAt(fd, ptr uint64) string {
	p := c.text(ptr)
	if path.IsAbs(p) {
		return path.Clean(p)
	}
	return path.Join(c.fdPath(fd), p)
}

// text reads a string that ends with a NUL.
func (c *Call) text(ptr uint64) string {
	var out []byte
	for len(out) < unix.PathMax {
		n := 256 - int(ptr)%256 // never over the end of a page
		b := c.Memory(ptr, n)
		if i := bytes.IndexByte(b, 0); i >= 0 || len(b) < n {
			return string(append(out, b[:max(i, 0)]...))
		}
		out, ptr = append(out, b...), ptr+uint64(n)
	}
	return string(out)
}

// Memory reads n bytes of the thread's memory; fewer, when not all are there.
func (c *Call) Memory(ptr uint64, n int) []byte {
	if n <= 0 {
		return nil
	}
	b := make([]byte, n)
	local := []unix.Iovec{{Base: &b[0], Len: uint64(n)}}
	got, err := unix.ProcessVMReadv(c.Tid, local, []unix.RemoteIovec{{Base: uintptr(ptr), Len: n}}, 0)
	if err != nil {
		return nil
	}
	return b[:got]
}

// word reads a number of 8 bytes; 0 where there is none.
func (c *Call) word(ptr uint64) (v uint64) {
	b := c.Memory(ptr, 8)
	for i := len(b) - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}

// PCs gives the return addresses on the thread's stack, innermost first.
func (c *Call) PCs() []uint64 {
	// The call is made by an assembler function without a frame: its return address is what the stack pointer points to.
	pcs := []uint64{c.word(c.regs.Rsp)}
	for fp, n := c.regs.Rbp, 0; fp != 0 && n < 100; n++ {
		frame := c.Memory(fp, 16)
		if len(frame) < 16 {
			break
		}
		next, pc := c.word(fp), c.word(fp+8)
		if pc == 0 {
			break
		}
		pcs = append(pcs, pc)
		if next <= fp { // stacks grow down: callers are above
			break
		}
		fp = next
	}
	return pcs
}
