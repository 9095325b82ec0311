package trace_test

import (
	"bytes"
	"testing"

	"ctxfs/internal/context/trace"
	"ctxfs/internal/quality/corpus"
	"ctxfs/internal/record"
)

// realLogs gives the agents' logs beside the repository that ctxfs imports.
func realLogs(t testing.TB) map[string][]byte {
	t.Helper()
	dir := corpus.Dir()
	if dir == "" {
		t.Skip("SKIP: ../shared/data is not here: no trace of a real session is checked")
	}
	list, err := corpus.Coding(dir)
	if err != nil || len(list) == 0 {
		t.Fatalf("%d logs were imported: %v", len(list), err)
	}
	out := map[string][]byte{}
	for _, s := range list {
		out[s.Name] = s.Log
	}
	return out
}

// TestRealSessions walks the references of traces of real sessions, at their end and in their middle; native ids of the logs
// are kept.
func TestRealSessions(t *testing.T) {
	done := 0
	for name, log := range realLogs(t) {
		if done++; testing.Short() && done > 6 {
			break
		}
		for _, part := range [][]byte{log, half(log)} {
			for _, budget := range []int{500, 8000} {
				files := records(t, context(t, part, budget))
				check(t, files)
				if len(part) > 0 && budget == 8000 && !bytes.Contains(files["sources.jsonl"], []byte(`"format":"`)) {
					t.Errorf("%s: no native id in the sources", name)
				}
			}
		}
	}
}

// half is the first half of a log's records.
func half(log []byte) []byte {
	h := record.NewMemory(log)
	end := 0
	for n := 1; n <= h.Len()/2; n++ {
		raw, _ := h.Raw(n)
		end += len(raw)
	}
	return log[:end]
}

// BenchmarkTrace is what the records of a pack cost beside the pack itself, over the real sessions at 32,000 tokens.
func BenchmarkTrace(b *testing.B) {
	var inputs []trace.In
	for _, log := range realLogs(b) {
		if len(log) > 1<<20 && len(inputs) < 8 {
			inputs = append(inputs, context(b, log, 32000))
		}
	}
	for b.Loop() {
		for _, in := range inputs {
			if _, err := trace.Build(in); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*len(inputs)), "ms/trace")
}
