// Package doctor looks for what is wrong on a host: with FUSE, the mounts, the service, the stores. It changes nothing, and no check
// can hang it.
package doctor

import (
	"fmt"
	"time"
)

// Level tells how bad a finding is.
type Level string

// The levels of a finding.
const (
	OK   Level = "ok"
	Warn Level = "warn" // works, and will not always
	Fail Level = "fail" // does not work
)

// Finding is what one check says of one thing.
type Finding struct {
	Check string `json:"check"`
	Level Level  `json:"level"`
	Text  string `json:"text"`
	Mend  string `json:"mend,omitempty"` // a command, or a line for a file
}

// Host is what is looked at.
type Host struct {
	Version    string   // of this program
	Stores     []string // absolute paths; those of mounts that answer are added
	AllowOther bool     // the settings want a mount for all
	Settings   error    // what is wrong with the files of settings
	Systemd    bool     // the host is run by systemd(1)
	UID        int

	mounts []asked
}

// answerWait is how long a mount, or a check, may take.
const answerWait = 3 * time.Second

// verifyWait is how long a store is read.
const verifyWait = 5 * time.Second

type check struct {
	name string
	wait time.Duration
	run  func() []Finding
}

// Examine makes all checks.
func Examine(h Host) []Finding {
	var out []Finding
	out = append(out, h.lookAtMounts()...)
	for _, c := range h.checks() {
		out = append(out, c.within()...)
	}
	for _, s := range h.stores() {
		said := check{"store", answerWait, s.reach}.within()
		if out = append(out, said...); len(said) > 0 {
			continue
		}
		for _, c := range s.checks() {
			out = append(out, c.within()...)
		}
	}
	return out
}

func (h *Host) checks() []check {
	list := []check{
		{"fuse", answerWait, h.fuseDevice}, {"fusermount3", answerWait, h.fusermount}, {"allow-other", answerWait, h.allowOther},
		{"kernel", answerWait, h.kernel}, {"settings", answerWait, h.settings},
	}
	for _, m := range h.mounts {
		if m.status != nil {
			list = append(list, check{"version", answerWait, func() []Finding { return h.version(m) }}, check{"service", 2 * answerWait, func() []Finding { return h.service(m) }},
				check{"memory", answerWait, func() []Finding { return h.memory(m) }}, check{"files", answerWait, func() []Finding { return h.openFiles(m) }},
				check{"quota", answerWait, func() []Finding { return h.quota(m) }})
		}
	}
	return append(list, check{"unit", 2 * answerWait, h.unit})
}

// within makes a check, and waits for it no longer than it may take.
func (c check) within() []Finding {
	done := make(chan []Finding, 1)
	go func() { done <- c.run() }()
	select {
	case list := <-done:
		for i := range list {
			list[i].Check = c.name
		}
		return list
	case <-time.After(c.wait):
		return []Finding{{Check: c.name, Level: Fail, Text: fmt.Sprintf("no answer for %v: what it looks at hangs", c.wait), Mend: "dmesg | tail"}}
	}
}

func ok(format string, args ...any) []Finding {
	return []Finding{{Level: OK, Text: fmt.Sprintf(format, args...)}}
}

func warn(mend, format string, args ...any) []Finding {
	return []Finding{{Level: Warn, Mend: mend, Text: fmt.Sprintf(format, args...)}}
}

func fail(mend, format string, args ...any) []Finding {
	return []Finding{{Level: Fail, Mend: mend, Text: fmt.Sprintf(format, args...)}}
}
