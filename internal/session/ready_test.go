package session

import (
	"fmt"
	"slices"
	"testing"
)

func TestReady(t *testing.T) {
	r := newReady()
	r.max = 4
	of := func(user int) *Session { return &Session{c: &Container{Rel: fmt.Sprintf("home/%d/agent/coder", user)}} }
	a, b := of(1), of(2)
	heavy := func(x *Session, weight int64) *Session { x.weight.Store(weight); return x }
	steps := []struct {
		name string
		use  *Session
		out  []*Session
	}{
		{"one", a, nil},
		{"another's", heavy(b, maxWeight), nil},
		{"as much as an owner may have", heavy(a, maxWeight), nil},
		{"one alone may have more", heavy(a, 2*maxWeight), nil},
		{"its owner's next", heavy(of(1), 1), []*Session{a}},
		{"again", b, nil},
	}
	for _, s := range steps {
		if out := r.use(s.use); !slices.Equal(out, s.out) {
			t.Errorf("%s: %d leave, not %d", s.name, len(out), len(s.out))
		}
	}
	first := r.order.Front().Value.(*waiting).x
	for range 2 {
		if out := r.use(of(3)); len(out) != 0 {
			t.Errorf("%d leave", len(out))
		}
	}
	if out := r.use(of(3)); !slices.Equal(out, []*Session{first}) {
		t.Errorf("%d leave, not the one that was used first", len(out))
	}
	for len(r.at) > 0 {
		r.forget(r.order.Front().Value.(*waiting).x)
	}
	if r.order.Len() != 0 || len(r.weight) != 0 {
		t.Errorf("%d left, and weights %v", r.order.Len(), r.weight)
	}
}
