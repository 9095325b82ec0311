package compile_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ctxfs/internal/context/compile"
	"ctxfs/internal/context/derive"
	"ctxfs/internal/context/pack"
	"ctxfs/internal/context/token"
	"ctxfs/internal/context/trace"
	"ctxfs/internal/record"
)

var (
	update    = flag.Bool("update", false, "write the golden files")
	tokenizer = sync.OnceValues(func() (*token.Encoding, error) { return token.New("o200k_base") })
)

// secret is what the tests mask.
const secret = "hunter2-hunter2"

func mask(text string) (string, []pack.Masked) {
	n := strings.Count(text, secret)
	if n == 0 {
		return text, nil
	}
	return strings.ReplaceAll(text, secret, "[redacted:test]"), []pack.Masked{{Rule: "test", Count: n}}
}

// input packs a log and gives what the compiler needs, as a session does.
func input(t testing.TB, log []byte, in pack.Input) compile.In {
	t.Helper()
	enc, err := tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	h, w := record.NewMemory(log), pack.NewWorkset(enc)
	w.SetMask(mask, func(text string) []pack.Masked {
		_, found := mask(strings.ReplaceAll(text, "[redacted:test]", secret))
		return found
	})
	for n := 1; n <= h.Len(); n++ {
		raw, _ := h.Raw(n)
		if r, err := h.Record(n); err != nil {
			w.AddBad(n, raw, err.Error())
		} else {
			w.Add(r, raw)
		}
	}
	in.Session, in.Agent, in.History = "s", "coder", h
	p, err := w.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	file := func(own []byte, kind derive.Kind) []byte {
		if own != nil {
			return own
		}
		data, err := w.Derived(h, kind)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	created := "2026-03-14T09:00:00Z"
	target := in.Target
	if target == "" {
		target = "model"
	}
	return compile.In{Session: trace.Session{ID: "0123", Name: "s", Agent: "coder", Scope: "private", UID: 1000}, ContextID: trace.ContextID("0123", target, p, in), Pack: p, Input: in,
		File: "context/pack.md", Producer: "test", Tokenizer: "o200k_base", Count: enc.Count, Mask: mask, Records: w.Masked(h), Created: created,
		Facts: file(in.Authored.Facts, derive.Facts), Decisions: file(in.Authored.Decisions, derive.Decisions), Todo: file(in.Authored.Todo, derive.Todo),
		Refs: file(in.Authored.Refs, derive.Refs)}
}

func build(t testing.TB, in compile.In) map[string][]byte {
	t.Helper()
	out, err := compile.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, n := range compile.Names() {
		if files[n] = out.File(n); files[n] == nil {
			t.Fatalf("%s was not made", n)
		}
	}
	return files
}

func session(t testing.TB) []byte {
	t.Helper()
	log, err := os.ReadFile("../pack/testdata/session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// authored are good files with all that they can hold.
func authored(t testing.TB) compile.Authored {
	t.Helper()
	file := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join("testdata", "authored", name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	return compile.Authored{Constraints: file("constraints.jsonl"), Preferences: file("preferences.jsonl"), Success: file("success.jsonl"), Plan: file("plan.jsonl"),
		Tools: file("tools.jsonl"), Policy: file("policy.json")}
}

func events() [][]byte {
	var out [][]byte
	for _, l := range []string{`{"specversion":"1.0","id":"e1","source":"ctxfs","type":"ctxfs.run.started","time":"2026-03-01T09:00:01Z","data":{"run":"r1","message":1}}`,
		`{"specversion":"1.0","id":"e2","source":"ctxfs","type":"ctxfs.session.state","time":"2026-03-01T09:00:02Z","data":{"from":"idle","to":"working"}}`,
		`{"specversion":"1.0","id":"e3","source":"build","type":"org.example.deployed","time":"2026-03-01T12:10:00Z"}`, `no json`,
		`{"specversion":"1.0","id":"e4","source":"ctxfs","type":"ctxfs.run.ended","time":"2026-03-02T09:22:00Z","data":{"run":"r1","status":"done"}}`,
		`{"specversion":"1.0","id":"e5","source":"ctxfs","type":"ctxfs.run.started","time":"2026-03-02T09:28:01Z","data":{"run":"r2"}}`} {
		out = append(out, []byte(l))
	}
	return out
}

// full is the sample session with everything that can stand beside it.
func full(t testing.TB, budget int) compile.In {
	in := input(t, session(t), pack.Input{Budget: budget, Pinned: []pack.File{{Path: "context/pinned/system.md", Data: []byte("Speak plainly. The key is " + secret + ".\n")}}})
	in.Authored, in.Events = authored(t), events()
	in.PolicyRefs = []string{"context/policy.json", "context/redact"}
	in.Missing = []trace.Missing{{MissingID: "missing-1", Question: "Which kernel does the customer run?", Severity: "blocking", Status: "requested"},
		{MissingID: "missing-2", Question: "answered long ago", Severity: "low", Status: "resolved"}}
	in.Compactions = []trace.Compaction{{CompactionID: "compact-1", Method: "extractive_summary", Trigger: "manual", Sources: []string{"item-1"}, CreatedAt: "2026-03-01T13:00:00Z"}}
	in.Injections = []trace.Injection{{InjectionID: "injection-1", ContextID: "ctx-1", Point: "system_prompt", Target: "model", Hash: "blake3-00", CreatedAt: "2026-03-01T13:10:00Z"}}
	return in
}

// TestGolden compiles the sample session, plain and with everything beside it, against files that were looked over by hand.
func TestGolden(t *testing.T) {
	for name, in := range map[string]compile.In{"plain@8000": input(t, session(t), pack.Input{Budget: 8000}), "full@8000": full(t, 8000), "full@1000": full(t, 1000)} {
		for file, data := range build(t, in) {
			golden := filepath.Join("testdata", name, strings.ReplaceAll(file, "/", "-"))
			if *update {
				if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(data, want) {
				t.Errorf("%s of %s is not as in %s (-update writes it)", file, name, golden)
			}
			if bytes.Contains(data, []byte(secret)) {
				t.Errorf("%s of %s shows the secret", file, name)
			}
		}
		for file, data := range build(t, in) {
			again := build(t, in)[file]
			if !bytes.Equal(data, again) {
				t.Errorf("%s of %s differs when it is made again", file, name)
			}
		}
	}
}
