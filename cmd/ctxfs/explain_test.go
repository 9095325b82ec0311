package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// golden compares with a file of testdata, or with -update writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("not what %s has:\n%s", file, got)
	}
}

// The plain form is the coloured one without its colours, and neither lets content say anything to the terminal.
func TestExplain(t *testing.T) {
	data, err := os.ReadFile("testdata/explain/pack.json")
	if err != nil {
		t.Fatal(err)
	}
	var plainly, coloured bytes.Buffer
	if err := explain(&plainly, data, pen{}, barWidth); err != nil {
		t.Fatal(err)
	}
	if err := explain(&coloured, data, pen{on: true}, barWidth); err != nil {
		t.Fatal(err)
	}
	golden(t, "explain/plain.golden", plainly.Bytes())
	golden(t, "explain/colour.golden", coloured.Bytes())
	sgr := regexp.MustCompile("\x1b\\[[0-9]{1,2}m")
	if got := sgr.ReplaceAllString(coloured.String(), ""); got != plainly.String() {
		t.Errorf("without colours:\n%s", got)
	}
	if strings.ContainsAny(plainly.String(), "\x1b\x07\u009b") {
		t.Errorf("content reaches the terminal: %q", plainly.String())
	}
}

func TestExplainBar(t *testing.T) {
	for _, c := range []struct {
		name, json string
		want       string
	}{
		{"nothing", `{"budget_tokens":100}`, "|··········|"},
		{"full", `{"budget_tokens":100,"tokens":100,"items":[{"kind":"facts","tokens":50},{"kind":"todo","tokens":50}]}`, "|█████▓▓▓▓▓|"},
		{"more than full", `{"budget_tokens":10,"tokens":100,"items":[{"kind":"facts","tokens":100}]}`, "|██████████|"},
		{"headings", `{"budget_tokens":100,"tokens":30,"items":[{"kind":"facts","tokens":20}]}`, "|██▓·······|"},
		{"no budget, and numbers that cannot be", `{"tokens":-5,"items":[{"kind":"facts","tokens":-9000000000000000000},{"kind":"b","tokens":9000000000000000000}]}`, ""},
	} {
		var out bytes.Buffer
		if err := explain(&out, []byte(c.json), pen{}, 10); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		bar := strings.Split(out.String(), "\n")[1]
		if c.want != "" && bar != c.want || utf8.RuneCountInString(bar) != 12 {
			t.Errorf("%s: %s", c.name, bar)
		}
	}
	if err := explain(&bytes.Buffer{}, []byte("{"), pen{}, 10); err == nil {
		t.Error("half a pack.json is explained")
	}
}

func TestColour(t *testing.T) {
	for _, c := range []struct {
		when, no, term string
		on, wrong      bool
	}{
		{when: "auto"}, // a buffer is no terminal
		{when: "never"},
		{when: "always", on: true},
		{when: "always", no: "1", term: "dumb", on: true},
		{when: "sometimes", wrong: true},
	} {
		t.Setenv("NO_COLOR", c.no)
		t.Setenv("TERM", c.term)
		p, err := (&colourFlag{c.when}).paint(&bytes.Buffer{})
		if p.on != c.on || (err != nil) != c.wrong {
			t.Errorf("%+v: %v, %v", c, p.on, err)
		}
	}
}
