package importer

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// render shows all that an import gave.
func render(sink *memSink, rep Report) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "== report\n%s\n", rep)
	fmt.Fprintf(&b, "session %s\ncwd %s\ntitle %s\nclient %s %s, model %s\nforked from %q\n%v to %v\n", rep.SessionID, rep.CWD, rep.Title, rep.Client, rep.ClientVersion, rep.Model, rep.ForkedFrom, rep.Started, rep.Ended)
	fmt.Fprintf(&b, "omitted %s\ncalls %d, unpaired %d; results %d, unpaired %d\n", reasons(rep.Omitted), rep.Calls, rep.UnpairedCalls, rep.Results, rep.UnpairedResults)
	for _, part := range []struct {
		name  string
		lines [][]byte
	}{{"messages", sink.messages}, {"events", sink.events}} {
		fmt.Fprintf(&b, "== %s\n", part.name)
		for _, l := range part.lines {
			b.Write(append(l, '\n'))
		}
	}
	b.WriteString("== blobs\n")
	for _, ref := range slices.Sorted(maps.Keys(sink.blobs)) {
		fmt.Fprintf(&b, "%s %d bytes\n", ref, sink.blobs[ref])
	}
	return b.Bytes()
}

// renderAll shows all sessions of a file.
func renderAll(t *testing.T, path string) []byte {
	var b bytes.Buffer
	for _, s := range importEach(t, path) {
		if s.label != "" {
			fmt.Fprintf(&b, "==== %s\n", s.label)
		}
		b.Write(render(s.sink, s.rep))
	}
	return b.Bytes()
}

// TestGolden imports the small logs of testdata and the samples, which hold every trap.
func TestGolden(t *testing.T) {
	for _, path := range append(logs(t, "testdata", "*.jsonl"), newSamples(t)...) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			got := renderAll(t, path)
			golden := filepath.Join("testdata", filepath.Base(path)+".golden")
			if filepath.Dir(path) == "testdata" {
				golden = path[:len(path)-len("jsonl")] + "golden"
			}
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("the import changed; run with -update and look at the diff.\n%s", firstDiff(got, want))
			}
			if again := renderAll(t, path); !bytes.Equal(again, got) {
				t.Error("two imports differ")
			}
		})
	}
}

// newSamples lists the samples that testdata has no log beside: one of each format but the first two.
func newSamples(t *testing.T) []string {
	var list []string
	for _, path := range logs(t, filepath.Join(root(t), "samples"), "*") {
		if _, err := os.Stat(filepath.Join("testdata", filepath.Base(path))); err != nil {
			list = append(list, path)
		}
	}
	return list
}

func firstDiff(got, want []byte) string {
	g, w := bytes.Split(got, []byte{'\n'}), bytes.Split(want, []byte{'\n'})
	for i := range g {
		if i >= len(w) || !bytes.Equal(g[i], w[i]) {
			return fmt.Sprintf("line %d\n got %s\nwant %s", i+1, g[i], w[min(i, len(w)-1)])
		}
	}
	return "lines are missing at the end"
}
