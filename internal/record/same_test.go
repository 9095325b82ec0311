package record_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"ctxfs/internal/quality/corpus"
	"ctxfs/internal/record"
)

// same compares a parse with the oracle's, and Check with encoding/json.
func same(t *testing.T, line []byte) {
	t.Helper()
	got, err := record.Parse(line, 3, 9)
	want, wantErr := oracle(line, 3, 9)
	if (err == nil) != (wantErr == nil) || !reflect.DeepEqual(got, want) {
		t.Fatalf("%.300q:\n%+v, %v, want\n%+v, %v", line, got, err, want, wantErr)
	}
	start := bytes.TrimLeft(line, " \t\r\n")
	valid := len(start) > 0 && start[0] == '{' && utf8.Valid(line) && json.Valid(line)
	if (record.Check(line) == nil) != valid {
		t.Fatalf("Check(%.300q) is %v", line, record.Check(line))
	}
}

// awkward are lines that test what differs easily between two parsers.
func awkward() []string {
	nested := func(n int) string { return `{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}" }
	objects := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	out := []string{nested(9998), nested(9999), nested(10000), nested(10001), objects(9999), objects(10000), objects(10001)}
	for _, s := range []string{`\ud83d\ude00`, `\ud83d`, `\ud83dx`, `\ud83d\u0041`, `\ude00\ud83d`, `\ud83d\ud83d\ude00`, `\u00e9`, `\u00E9`, `\u12g4`, `\u123`,
		`\x`, `\`, `\\\"\/\b\f\n\r\t`, "\xff", "é\xc3", "1234567\x1f", "12345678\x00", "1234567\"", `1234567\n`, "\x7f", "日本語", "é", "\xed\xa0\x80", "abc\xffdef\\nx", `\u0000`} {
		out = append(out, `{"role":"user","content":"`+s+`"}`, `{"`+s+`":1,"content":"x"}`)
	}
	for _, v := range []string{"0", "-0", "01", "1.", "1.5", ".5", "-", "1e5", "1E+5", "1e", "1e-", "1e400", "+1", "0x1", "true", "tru", "truex", "null", "nul", "NaN", `""`, "[]", "{}", "[1,]",
		"[,1]", "[1 2]", `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, "[", "{", `{"type":"text","text":5}`, `[1,"a",null,[2],{"text":"x"},{"type":"tool_result"},true]`, "1767323045.25", "\"2026-01-02\""} {
		for _, k := range []string{"content", "created_at", "tool_calls", "function_call", "message", "id", "role", "sidechain"} {
			out = append(out, `{"role":"tool","`+k+`":`+v+`}`, ` { "`+k+`" : `+v+` , "x":1 } `, `{"type":"x","message":{"role":"user","`+k+`": `+v+`}}`)
		}
		out = append(out, `{"role":"user","content":[{"type":"image","source":{"bytes":`+v+`,"data":"AAAA"}}]}`, v)
	}
	return append(out, `{"role":"user","role":"assistant","content":"a","content":"b"}`, `{"r\u006fle":"user","content":"x"}`, "", " ", "{", "{}{}", "{} x", "\ufeff{}", `{"a":1`)
}

func TestSameAsOracle(t *testing.T) {
	for _, line := range awkward() {
		same(t, []byte(line))
	}
}

func TestSameAsOracleOnRealSessions(t *testing.T) {
	dir := corpus.Dir()
	if dir == "" {
		t.Skip("SKIP: ../shared/data is not here")
	}
	list, err := corpus.Coding(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		for line := range bytes.Lines(s.Log) {
			same(t, line)
		}
	}
}

func FuzzSame(f *testing.F) {
	for _, line := range awkward() {
		if len(line) < 1000 {
			f.Add([]byte(line))
		}
	}
	f.Fuzz(func(t *testing.T, line []byte) { same(t, line) })
}

// BenchmarkParse prints MB/s over real sessions, and of the oracle over the same.
func BenchmarkParse(b *testing.B) {
	dir := corpus.Dir()
	if dir == "" {
		b.Skip("SKIP: ../shared/data is not here")
	}
	list, err := corpus.Coding(dir)
	if err != nil {
		b.Fatal(err)
	}
	var log []byte
	for _, s := range list {
		log = append(log, s.Log...)
	}
	for _, x := range []struct {
		name  string
		parse func([]byte, int, int64) (record.Record, error)
	}{{"parse", record.Parse}, {"oracle", oracle}} {
		b.Run(x.name, func(b *testing.B) {
			b.SetBytes(int64(len(log)))
			for b.Loop() {
				for line := range bytes.Lines(log) {
					_, _ = x.parse(line, 1, 0) // the lines were written by the importer
				}
			}
		})
	}
	b.Run("check", func(b *testing.B) {
		b.SetBytes(int64(len(log)))
		for b.Loop() {
			for line := range bytes.Lines(log) {
				_ = record.Check(line) // as above
			}
		}
	})
}
