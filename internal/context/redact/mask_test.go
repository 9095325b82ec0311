package redact

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Test secrets are put together at run time, so that no scanner takes this file for a leak.
const (
	anySecret = "zQ3vN8kP1xT6mB4w"
	hex32     = "3f9a1c7e5b2d8046a9c1e7f3b5d20846"
)

func rules(t testing.TB, own string) *Rules {
	t.Helper()
	r, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	list, err := ParseOwn([]byte(own))
	if err != nil {
		t.Fatal(err)
	}
	return r.With(list)
}

func TestMask(t *testing.T) {
	key := "sk" + "_live_" + anySecret + anySecret
	tests := []struct{ name, own, in, want string }{
		{"nothing", "", "the key is under the mat", "the key is under the mat"},
		{"library", "", "use " + key + " now", "use [redacted:stripe-access-token] now"},
		{"the better name", "", `api_key = "` + key + `"`, `api_key = "[redacted:stripe-access-token]"`},
		{"url", "", "postgres://app:" + anySecret + "@db:5432/x", "postgres://app:[redacted:url-password]@db:5432/x"},
		{"url with a variable", "", "https://u:${TOKEN}@host/ https://u:$T@host", "https://u:${TOKEN}@host/ https://u:$T@host"},
		{"url of docs", "", "https://user:password@host/", "https://user:password@host/"},
		{"port and mail", "", "http://host:8080/?to=a@b.c http://host:80?to=a@b", "http://host:8080/?to=a@b.c http://host:80?to=a@b"},
		{"header", "", "> Authorization: Bearer " + anySecret, "> Authorization: Bearer [redacted:authorization-header]"},
		{"basic", "", `"authorization": "Basic ` + anySecret + `=="`, `"authorization": "Basic [redacted:authorization-header]"`},
		{"bearer", "", "-H 'X: Bearer " + anySecret + "9'", "-H 'X: Bearer [redacted:bearer-token]'"},
		{"bearer in prose", "", "a bearer authentication-scheme of words", "a bearer authentication-scheme of words"},
		{"password", "", `password: "hun!ter7"`, `password: "[redacted:password]"`},
		{"password in code", "", `password = getpass("password: ")`, `password = getpass("password: ")`},
		{"password's type", "", `{"password": "string", "password2": "required"}`, `{"password": "string", "password2": "required"}`},
		{"people's passwords", "", `password: "my5ecret!", passwd='newPass99'`, `password: "[redacted:password]", passwd='[redacted:password]'`},
		{"placeholders", "", `password: "your-password-here", passwd='changeme!'`, `password: "your-password-here", passwd='changeme!'`},
		{"argument", "", "PGPASSWORD=hun!ter7 psql --password=hun7er", "PGPASSWORD=[redacted:password-argument] psql --password=[redacted:password-argument]"},
		{"in a sentence", "", "the key (" + key + ") is bad: " + key + ".", "the key ([redacted:stripe-access-token]) is bad: [redacted:stripe-access-token]."},
		{"query", "", "GET /x?a=b&api_key=" + hex32 + "&c=d", "GET /x?a=b&api_key=[redacted:url-parameter]&c=d"},
		{"query with words", "", "GET /x?page_token=next-page-please&c=d", "GET /x?page_token=next-page-please&c=d"},
		{"escaped", "", `{"f": "api_key = \"` + hex32 + `\"\nbye"}`, `{"f": "api_key = \"[redacted:generic-api-key]\"\nbye"}`},
		{"escaped twice", "", `["{\"f\": \"api_key = \\\"` + hex32 + `\\\"\\n\"}"]`, `["{\"f\": \"api_key = \\\"[redacted:generic-api-key]\\\"\\n\"}"]`},
		{"own literal", "x literal:Blue Whale", "the Blue Whale, Blue whale", "the [redacted:x], Blue whale"},
		{"own literal in JSON", `x literal:a"b\c`, `["a\"b\\c", 1]`, `["[redacted:x]", 1]`},
		{"own group", `case CASE-(\d+)`, "CASE-17 case-18", "CASE-[redacted:case] case-18"},
		{"number in JSON", `n \d{4}`, `{"a": 12345, "b": [-1234.5e3], "c": true}`, `{"a": "[redacted:n]", "b": ["[redacted:n]"], "c": true}`},
		{"over a JSON string's end", `n a.*b`, `{"x": "1a", "y": {"b": 2}}`, `{"x": "1[redacted:n]", "[redacted:n]": {"[redacted:n]": 2}}`},
		{"half an escape", `n n.`, `["\nx", "\u00e9n!"]`, `["[redacted:n]", "\u00e9[redacted:n]"]`},
		{"only structure", `n \},?`, `[{"a":1},{}]`, `[{"a":1},{}]`},
		{"lines of JSON", `n b[^c]*c`, "{\"a\": \"b\"}\ntext\n{\"c\": 1}", "{\"a\": \"[redacted:n]\"}\n[redacted:n]{\"[redacted:n]\": 1}"},
		{"a mask stays", `n red\w+`, "[redacted:n] [redacted:nobody]", "[redacted:n] [[redacted:n]:nobody]"},
		{"over a mask", `n a.+b`, "a [redacted:n] b", "[redacted:n]"},
	}
	for _, tt := range tests {
		r := rules(t, tt.own)
		got, found := r.Mask(tt.in)
		if got != tt.want {
			t.Errorf("%s: Mask(%q) = %q, want %q", tt.name, tt.in, got, tt.want)
		}
		if err := check(r, tt.in, got, found); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// check holds Mask to what it promises.
func check(r *Rules, in, out string, found []Finding) error {
	at := 0
	for _, f := range found {
		if f.Start < at || f.End <= f.Start || f.End > len(in) {
			return fmt.Errorf("findings %v do not stand in order in %d bytes", found, len(in))
		}
		at = f.End
	}
	if len(out) > len(in)+MaxGrow*len(found) {
		return fmt.Errorf("%d bytes became %d, with %d findings", len(in), len(out), len(found))
	}
	if render(in, found) != out {
		return fmt.Errorf("the findings do not say what was masked")
	}
	if rest := r.Find(out); len(rest) > 0 {
		return fmt.Errorf("%v is found when it is masked: %q", rest, out)
	}
	if again, more := r.Mask(out); again != out || len(more) > 0 {
		return fmt.Errorf("masked again %q is %q", out, again)
	}
	if json.Valid([]byte(in)) && !json.Valid([]byte(out)) && isJSON(in) {
		return fmt.Errorf("JSON became %q", out)
	}
	return nil
}

func TestMaskKeys(t *testing.T) {
	r := rules(t, "")
	body := strings.Repeat(hex32+"AbCd+/\n", 12)
	begin, end := "-----BEGIN RSA PRIVATE "+"KEY-----", "-----END RSA PRIVATE "+"KEY-----"
	if got, _ := r.Mask("key:\n" + begin + "\n" + body + end + "\nbye"); got != "key:\n[redacted:private-key]\nbye" {
		t.Errorf("a whole key: %q", got)
	}
	if got, _ := r.Mask(begin + "\n" + body + "$ ls"); strings.Contains(got, hex32) || !strings.HasSuffix(got, "\n$ ls") {
		t.Errorf("the beginning of a key: %q", got)
	}
	numbered := begin + "\n"
	for i := range 5 {
		numbered += fmt.Sprintf("%6d\t%s+/xYz\n", i+2, hex32)
	}
	if got, _ := r.Mask(numbered); strings.Contains(got, hex32) {
		t.Errorf("with numbers before the lines: %q", got)
	}
	quoted, _ := json.Marshal(map[string]string{"out": begin + "\n" + body + end})
	if got, _ := r.Mask(string(quoted)); got != `{"out":"[redacted:private-key]"}` {
		t.Errorf("in JSON: %q", got)
	}
}

// What is left after a mask may be a secret again, many times: the rounds end, and nothing is left.
func TestMaskRounds(t *testing.T) {
	r := rules(t, `pair <(\w)[^<>]*>`)
	for _, text := range []string{
		"curl" + strings.Repeat(" -u ab"+anySecret+":x"+hex32, 40) + " ",
		"<abcdefghijklmnopqrstuvwxyz 0123456789>",
		strings.Repeat("<<a>", 50),
	} {
		got, found := r.Mask(text)
		if err := check(r, text, got, found); err != nil {
			t.Error(err)
		}
	}
}

// In all examples of the library the secrets are gone, wherever they stand.
func TestMaskGolden(t *testing.T) {
	r := rules(t, "")
	for _, k := range readGolden(t) {
		got, found := r.Mask(k.Text)
		if err := check(r, k.Text, got, found); err != nil {
			t.Errorf("%q: %v", k.Text, err)
		}
		if len(found) == 0 && len(k.Find) > 0 {
			t.Errorf("%q: nothing is masked", k.Text)
		}
	}
}

func TestConcurrent(t *testing.T) {
	r := rules(t, "")
	all := readGolden(t)[:300]
	done := make(chan string)
	for range 4 {
		go func() {
			var out strings.Builder
			for _, k := range all {
				s, _ := r.Mask(k.Text)
				out.WriteString(s)
			}
			done <- out.String()
		}()
	}
	first := <-done
	for range 3 {
		if <-done != first {
			t.Error("other masks at the same time")
		}
	}
}
