package importer

import (
	"bytes"
	"os"
	"testing"
)

// seeds adds the small logs of testdata, line by line.
func seeds(f *testing.F, pattern string) {
	for _, path := range logs(f, "testdata", pattern) {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, line := range bytes.SplitAfter(data, []byte{'\n'}) {
			f.Add(line)
		}
	}
}

// fuzzImport sees that whatever comes in, it has one format or none, the books balance and what goes out are records.
func fuzzImport(f *testing.F, format Format) {
	f.Fuzz(func(t *testing.T, log []byte) {
		if got, err := Detect(log); (got == "") != (err != nil) {
			t.Errorf("%q, %v", got, err)
		}
		sink := &memSink{}
		rep, err := Import(bytes.NewReader(log), format, sink, nil)
		if err != nil {
			t.Fatal(err)
		}
		checkImport(t, sink, rep)
		again := &memSink{}
		if _, err := Import(bytes.NewReader(log), format, again, nil); err != nil || !bytes.Equal(sink.log(), again.log()) {
			t.Error("two imports differ")
		}
	})
}

func FuzzClaudeCode(f *testing.F) { seeds(f, "claude-code.jsonl"); fuzzImport(f, ClaudeCode) }
func FuzzCodex(f *testing.F)      { seeds(f, "codex.jsonl"); fuzzImport(f, Codex) }

// BenchmarkImport imports the largest logs of ../shared/data; the log's bytes are what is counted.
func BenchmarkImport(b *testing.B) {
	dir := shared(b)
	for _, name := range []string{"claude-code/entireio__cli/2026-01-24-53ea19c1-6d29-4ebf-952b-ddbb27af25bb.jsonl", "codex/EntityProcess__agentv/019ed99c-d00d-7613-b2e7-d2f512f78afd.jsonl"} {
		data, err := os.ReadFile(dir + "/" + name)
		if err != nil {
			b.Fatal(err)
		}
		f, err := Detect(data)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(string(f), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Import(bytes.NewReader(data), f, nowhere{}, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

type nowhere struct{}

func (nowhere) Message([]byte) error        { return nil }
func (nowhere) Event([]byte) error          { return nil }
func (nowhere) Blob([]byte) (string, error) { return "blake3-00", nil }
