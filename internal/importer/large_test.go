package importer

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestLargeBad keeps what is no record and is long as a blob: written as JSON it could be longer than a line may be.
func TestLargeBad(t *testing.T) {
	for _, bad := range []string{strings.Repeat("\x00", 12_000_000), `{"torn ` + strings.Repeat("x", maxRaw), strings.Repeat("\xff", maxRaw+1)} {
		sink, rep := importText(t, ClaudeCode, said("a", "x")+"\n"+bad+"\n"+said("b", "y")+"\n")
		if len(sink.messages) != 2 || rep.Blobs != 1 {
			t.Fatalf("%s", rep)
		}
		var e struct {
			Raw struct {
				Type, Ref string
				Bytes     int
			}
		}
		if err := json.Unmarshal(sink.events[len(sink.events)-1], &e); err != nil {
			t.Fatalf("%v: %.200s", err, sink.events[len(sink.events)-1])
		}
		if e.Raw.Type != "ref" || e.Raw.Bytes != len(bad) || sink.blobs[e.Raw.Ref] != len(bad) {
			t.Errorf("%.200s; blobs %v", sink.events[len(sink.events)-1], sink.blobs)
		}
	}
}

// TestLargeRecord writes in place of a line that no log takes one that names it.
func TestLargeRecord(t *testing.T) {
	sink := &memSink{}
	s, err := NewStream(ClaudeCode, sink)
	if err != nil {
		t.Fatal(err)
	}
	s.r.w.most = 1000
	big := strings.Repeat("x", 1000)
	for _, line := range []string{said("a", big), `{"type":"tea","uuid":"e","leaf":"` + big + `"}`, said("b", "small")} {
		if err := s.Line([]byte(line + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	rep := s.r.w.report()
	checkImport(t, sink, rep)
	if len(sink.messages) != 2 || rep.Blobs != 2 {
		t.Fatalf("%s", rep)
	}
	for _, line := range [][]byte{sink.messages[0], sink.events[len(sink.events)-1]} {
		o := parseObject(line)
		ref := o.obj("native").obj("too_large")
		if len(line) > 1000 || sink.blobs[ref.str("ref")] < 1000 || !bytes.Contains(line, []byte(`"line":`)) {
			t.Errorf("%s", line)
		}
	}
}
