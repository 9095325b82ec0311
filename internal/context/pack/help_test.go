package pack

import (
	"bytes"
	"encoding/json"
	"sync"
	"testing"

	"ctxfs/internal/context/derive"
	"ctxfs/internal/context/token"
	"ctxfs/internal/record"
)

var tokenizer = sync.OnceValues(func() (*token.Encoding, error) { return token.New("o200k_base") })

func counter(t testing.TB) *token.Encoding {
	t.Helper()
	e, err := tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

type msg map[string]any

func text(role, s string) msg { return msg{"role": role, "content": s} }

// logOf writes messages as a log.
func logOf(t testing.TB, messages ...msg) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, m := range messages {
		line, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
	return out.Bytes()
}

// fold folds a whole log.
func fold(t testing.TB, log []byte) (*Workset, *record.Memory) {
	t.Helper()
	h := record.NewMemory(log)
	w := NewWorkset(counter(t))
	for n := 1; n <= h.Len(); n++ {
		add(t, w, h, n)
	}
	return w, h
}

func add(t testing.TB, w *Workset, h record.History, n int) {
	t.Helper()
	raw, err := h.Raw(n)
	if err != nil {
		t.Fatal(err)
	}
	r, err := h.Record(n)
	if err != nil {
		w.AddBad(n, raw, "not a JSON object")
		return
	}
	w.Add(r, raw)
}

func build(t testing.TB, w *Workset, h record.History, budget int) *Pack {
	t.Helper()
	p, err := w.Build(Input{Session: "s", Agent: "a", Budget: budget, History: h})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func memory(log []byte) *record.Memory { return record.NewMemory(log) }

func deriveKind(name string) derive.Kind { return derive.Kind(name) }
