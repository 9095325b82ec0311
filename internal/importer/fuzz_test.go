package importer

import (
	"bytes"
	"os"
	"testing"
)

// seeds adds a small log, whole and line by line.
func seeds(f *testing.F, dir, name string) {
	for _, path := range logs(f, dir, name) {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
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
		list, err := importBytes(log, format, nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := importBytes(log, format, nil)
		if err != nil || len(again) != len(list) {
			t.Fatalf("%d sessions, then %d: %v", len(list), len(again), err)
		}
		for i, s := range list {
			checkImport(t, s.sink, s.rep)
			if !bytes.Equal(s.sink.log(), again[i].sink.log()) {
				t.Error("two imports differ")
			}
		}
	})
}

const samples = "../../samples"

func FuzzClaudeCode(f *testing.F) {
	seeds(f, "testdata", "claude-code.jsonl")
	fuzzImport(f, ClaudeCode)
}
func FuzzCodex(f *testing.F)    { seeds(f, "testdata", "codex.jsonl"); fuzzImport(f, Codex) }
func FuzzCopilot(f *testing.F)  { seeds(f, samples, "copilot-cli.jsonl"); fuzzImport(f, CopilotCLI) }
func FuzzGemini(f *testing.F)   { seeds(f, samples, "gemini-cli.json*"); fuzzImport(f, GeminiCLI) }
func FuzzOpenCode(f *testing.F) { seeds(f, samples, "opencode.json"); fuzzImport(f, OpenCode) }
func FuzzPi(f *testing.F)       { seeds(f, samples, "pi.jsonl"); fuzzImport(f, Pi) }

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
