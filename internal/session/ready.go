package session

import (
	"container/list"

	"golang.org/x/sys/unix"
)

const (
	// maxReady is how many sessions keep their logs and folds while nobody uses them, where the process may have many files
	// open; readyFDs is how many descriptors it may have for each.
	maxReady, readyFDs = 512, 16
	// maxWeight is how much of one owner's sessions is kept folded, in bytes of their logs and of what was made from them:
	// 512 MiB. The session used last is kept however large.
	maxWeight = 512 << 20
)

// ready is the queue of sessions that are ready for use: they leave it when others were used since, or when their owner's weigh
// too much. Its Store's mu protects it.
type ready struct {
	max    int
	order  list.List // of *waiting, least recently used first
	at     map[*Session]*list.Element
	weight map[string]int64 // of each owner's
}

type waiting struct {
	x      *Session
	owner  string
	weight int64
}

func newReady() *ready {
	r := &ready{max: maxReady, at: map[*Session]*list.Element{}, weight: map[string]int64{}}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err == nil {
		r.max = int(min(maxReady, max(16, limit.Cur/readyFDs)))
	}
	return r
}

// use puts x at the end, and gives those that leave.
func (r *ready) use(x *Session) (out []*Session) {
	e := r.at[x]
	if e == nil {
		e = r.order.PushBack(&waiting{x: x, owner: OwnerRel(x.c.Rel)})
		r.at[x] = e
	}
	r.order.MoveToBack(e)
	w := e.Value.(*waiting)
	now := x.weight.Load()
	r.weight[w.owner] += now - w.weight
	w.weight = now
	if r.order.Len() > r.max {
		out = append(out, r.drop(r.order.Front()))
	}
	for e := r.order.Front(); r.weight[w.owner] > maxWeight && e != r.at[x]; {
		next := e.Next()
		if e.Value.(*waiting).owner == w.owner {
			out = append(out, r.drop(e))
		}
		e = next
	}
	return out
}

// forget takes x out, if it is there.
func (r *ready) forget(x *Session) {
	if e := r.at[x]; e != nil {
		r.drop(e)
	}
}

func (r *ready) drop(e *list.Element) *Session {
	w := r.order.Remove(e).(*waiting)
	delete(r.at, w.x)
	if r.weight[w.owner] -= w.weight; r.weight[w.owner] == 0 {
		delete(r.weight, w.owner)
	}
	return w.x
}

// used puts x at the end of the queue of sessions that are ready, and shuts those that leave it.
func (s *Store) used(x *Session) {
	s = s.host()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, old := range s.ready.use(x) {
		// Its locks may be held by a caller that waits for ours: never wait for them here.
		s.later.Go(old.rest)
	}
}
