package gc

import (
	"fmt"
	"time"

	"ctxfs/internal/session"
)

// session plans what a session's gc.policy says of its history. A policy that cannot be read says nothing: the daemon
// lets none in, and history stays.
func (p *planner) session(x *session.Session) error {
	data, err := x.ReadControl("context/gc.policy")
	if err != nil {
		return err
	}
	policy, err := session.ParsePolicy(data)
	if err != nil {
		return nil
	}
	after, from := policy.ArchiveAfter, "archive_after"
	if after == 0 {
		after, from = p.opt.ArchiveAfter, "--archive-after"
	}
	updated, err := x.Updated()
	if err != nil {
		return err
	}
	idle := p.opt.Now.Sub(updated)
	if policy.DeleteAfter > 0 && idle > policy.DeleteAfter {
		size, err := p.size(x.Rel())
		p.add(Action{Do: Delete, Path: x.Rel(), Bytes: size, Reason: why(idle, "delete_after", policy.DeleteAfter)})
		return err
	}
	if after == 0 || idle <= after {
		return nil
	}
	plain, err := x.PlainBytes()
	if plain > 0 {
		p.add(Action{Do: Archive, Path: x.Rel(), Bytes: plain, Reason: why(idle, from, after)})
	}
	return err
}

func why(idle time.Duration, key string, after time.Duration) string {
	return fmt.Sprintf("idle for %s, %s=%s", days(idle), key, days(after))
}

// days writes a duration as policies do, in the largest unit that it holds one of.
func days(d time.Duration) string {
	switch {
	case d >= 24*time.Hour:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d >= time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= time.Minute:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}
