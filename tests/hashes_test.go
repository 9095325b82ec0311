package tests

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ctxfs/internal/cas"
)

// hashWalk checks every hash that the files of a session give for a path: against the bytes that one reads there.
type hashWalk struct {
	t                          *testing.T
	dir, file                  string
	plain, trees, asOf, others int // what was checked, by the name of the hash
}

// walk looks at a value of a file and at all that it holds.
func (h *hashWalk) walk(v any) {
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			h.walk(e)
		}
	case obj:
		h.object(x)
		for _, e := range x {
			h.walk(e)
		}
	}
}

func str(o obj, key string) string { s, _ := o[key].(string); return s }

func (h *hashWalk) object(o obj) {
	meta, _ := o["metadata"].(obj)
	path := str(o, "path")
	for _, name := range []string{"content_ref", "final_ref", "open"} {
		if path == "" {
			path = str(o, name)
		}
	}
	if strings.HasPrefix(path, "blake3-") {
		path = "context/dedup/blob/" + path
	}
	switch {
	case str(o, "open") != "": // a chunk: its hash is that of the tree
		h.tree(path, str(o, "hash"))
	case path != "" && str(o, "hash") != "":
		h.plain++
		h.same(path, str(o, "hash"), part(h.bytes(path), o["selector"]))
	case path != "" && str(o, "tree_hash") != "":
		h.tree(path, str(o, "tree_hash"))
	case path != "" && str(o, "as_of_hash") != "":
		h.asOf++
		if n, _ := o["as_of"].(float64); n < 1 || !strings.HasPrefix(path, "context/") {
			h.t.Errorf("%s: %s as of record %v", h.file, path, o["as_of"])
		}
	case str(o, "digest") != "" && str(o, "digest_of") == "" && str(meta, "digest_of") == "":
		h.others++
		path := path + str(o, "uri")
		data := h.bytes(path)
		for _, s := range append([]any{o["selector"]}, list(o["selectors"])...) {
			if at, _ := s.(obj); str(at, "type") == "message_part" {
				data = h.bytes(str(meta, "path"))
			} else if str(at, "type") == "DataPositionSelector" {
				data = part(h.bytes(path), s)
			} else if str(at, "type") == "line_range" {
				data = lines(h.bytes(path), int(at["start"].(float64)), int(at["end"].(float64)))
			}
		}
		h.same(path, str(o, "digest"), data)
	}
	if id := str(o, "hash"); h.file == "context/dedup/index.jsonl" {
		h.same("context/dedup/blob/"+id, id, h.bytes("context/dedup/blob/"+id))
	}
}

func list(v any) []any { l, _ := v.([]any); return l }

// part returns the bytes that a selector names.
func part(data []byte, selector any) []byte {
	s, _ := selector.(obj)
	if str(s, "type") != "DataPositionSelector" {
		return data
	}
	return data[int(s["start"].(float64)):int(s["end"].(float64))]
}

func lines(data []byte, from, to int) []byte {
	all := bytes.SplitAfter(data, []byte("\n"))
	return bytes.Join(all[from-1:to], nil)
}

func (h *hashWalk) bytes(path string) []byte {
	data, err := os.ReadFile(filepath.Join(h.dir, path))
	if err != nil {
		h.t.Errorf("%s names %s: %v", h.file, path, err)
	}
	return data
}

func (h *hashWalk) same(path, want string, data []byte) {
	h.t.Helper()
	if got := cas.Sum(data).String(); got != want {
		h.t.Errorf("%s: %s has the hash %s, not %s", h.file, path, got, want)
	}
}

// tree checks the hash of the records at a path, as docs/formats.md has it.
func (h *hashWalk) tree(path, want string) {
	h.trees++
	if strings.Contains(filepath.Base(path), ".") { // the text of one block
		h.same(path, want, h.bytes(path))
		return
	}
	var a, b int
	if n, _ := fmt.Sscanf(filepath.Base(path), "messages:%d-%d", &a, &b); n == 1 {
		b = a
	}
	all := bytes.SplitAfter(h.bytes(path), []byte("\n"))
	if len(all)-1 != b-a+1 {
		h.t.Errorf("%s: %s has %d lines", h.file, path, len(all)-1)
		return
	}
	var parts [][]byte
	for at := a - 1; at < b; {
		k := bits.Len(uint(b-at)) - 1
		if z := bits.TrailingZeros(uint(at)); at > 0 && z < k {
			k = z
		}
		parts = append(parts, node(all[at-(a-1):at-(a-1)+1<<k]))
		at += 1 << k
	}
	sum := parts[0]
	if len(parts) > 1 {
		sum = digest(bytes.Join(parts, nil))
	}
	if got := "blake3-" + hex.EncodeToString(sum); got != want {
		h.t.Errorf("%s: the lines of %s have the tree hash %s, not %s", h.file, path, got, want)
	}
}

func node(lines [][]byte) []byte {
	if len(lines) <= 16 {
		return digest(bytes.Join(lines, nil))
	}
	return digest(append(node(lines[:len(lines)/2]), node(lines[len(lines)/2:])...))
}

func digest(data []byte) []byte {
	sum, _ := hex.DecodeString(strings.TrimPrefix(cas.Sum(data).String(), "blake3-"))
	return sum
}

// session walks the generated files of a session that are JSON.
func (h *hashWalk) session(dir string) {
	h.dir = dir
	err := filepath.WalkDir(filepath.Join(dir, "context"), func(path string, d fs.DirEntry, err error) error {
		h.file, _ = filepath.Rel(dir, path)
		if err != nil || d.IsDir() || strings.HasPrefix(h.file, "context/pinned/") || !strings.Contains(filepath.Ext(path), ".json") && !strings.HasPrefix(h.file, "context/swap/chunk/") {
			return err
		}
		h.read(h.file)
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, name := range []string{"context/pack@500.json", "context/pack@4000.json", "context/pack.reviewer.json", "context/pack?what is left.json", "context/pack#1.json"} {
		h.read(name)
	}
}

func (h *hashWalk) read(name string) {
	h.file = name
	for dec := json.NewDecoder(bytes.NewReader(h.bytes(name))); dec.More(); {
		var v obj
		if err := dec.Decode(&v); err != nil {
			h.t.Errorf("%s: %v", name, err)
			return
		}
		h.walk(v)
	}
}

// Where a generated file names a path and a hash, the bytes at that path have that hash: with and without masks, after something was
// shown, after more was appended, with what stands beside the log.
func TestHashes(t *testing.T) {
	notUnderRace(t)
	mt := newMount(t, "--budget", "3000")
	var dirs []string
	for _, f := range append(sampleLogs(t), realSmallLogs(t)...) {
		out, _ := command(program, "import", f, "--mount", mt.point, "--json") // its exit code says that a sample has bad lines
		for dec := json.NewDecoder(strings.NewReader(out)); dec.More(); {
			var done imported
			if err := dec.Decode(&done); err != nil {
				t.Fatalf("%s: %v\n%s", f, err, out)
			}
			dirs = append(dirs, done.Session)
		}
	}
	h := &hashWalk{t: t}
	wc := importable(t, "the word")
	for i, dir := range dirs {
		for name, text := range map[string]string{"pinned/a.md": "Mind the gap.\n", "pinned/b.ref": "messages:2\nmessages:1.1\nmessages:99999\n"} {
			if err := os.WriteFile(dir+"/context/"+name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if i%2 == 0 {
			run(t, "bundle", "import", wc, "--session", dir)
			add(t, dir+"/context/constraints.jsonl", `{"text":"Keep the word."}`+"\n")
		}
		h.session(dir)
		run(t, "inject", dir)
		if err := write(dir+"/context/redact", "article \\b[Tt]he\\b\n"); err != nil {
			t.Fatal(err)
		}
		add(t, dir+"/messages.jsonl", message("user", "Always name the next step.")+message("assistant", "Decision: the next step is the last one."))
		h.session(dir)
		if i%3 == 0 {
			if err := write(dir+"/context/summary.md", "The whole.\n"); err != nil {
				t.Fatal(err)
			}
			h.session(dir)
		}
	}
	if h.plain < 500 || h.trees < 100 || h.asOf < 20 || h.others < 500 {
		t.Errorf("too little was checked: %d hashes, %d trees, %d as of a record, %d digests", h.plain, h.trees, h.asOf, h.others)
	}
}

func sampleLogs(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../samples/*.json*")
	if err != nil || len(files) == 0 {
		t.Fatalf("samples: %v, %v", files, err)
	}
	return files
}

// realSmallLogs returns some real logs beside the repository; none where they are not there.
func realSmallLogs(t *testing.T) (files []string) {
	t.Helper()
	for _, agent := range []string{"claude-code", "codex"} {
		dir := filepath.Join("..", "..", "shared", "data", agent)
		if _, err := os.Stat(dir); err != nil {
			t.Logf("SKIP: ../shared/data/%s is not here: only samples are tested", agent)
			continue
		}
		found := 0
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".jsonl" || found == 4 {
				return err
			}
			if info, err := d.Info(); err == nil && info.Size() > 200<<10 && info.Size() < 1<<20 {
				files, found = append(files, path), found+1
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}
