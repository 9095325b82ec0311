package redact

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// hostile is texts that make a search slow which is not careful, by name, of about n bytes each.
func hostile(n int) map[string]string {
	fill := func(s string) string { return strings.Repeat(s, n/len(s)+1)[:n] }
	r, err := Default()
	if err != nil {
		return nil
	}
	var words strings.Builder
	for _, rule := range r.rules {
		for _, k := range rule.Keywords {
			words.WriteString(k + "=\"" + anySecret + "\" ")
		}
	}
	return map[string]string{
		"no keyword":     fill("lorem ipsum dolor "),
		"key":            fill("key"),
		"key=":           fill("key="),
		"key key=":       fill("key key='"),
		"one secret":     "key=" + fill(anySecret),
		"many secrets":   fill("token = \"" + anySecret + "\"\n"),
		"all keywords":   fill(words.String()),
		"curl":           fill("curl "),
		"curl -H":        fill("curl -H \"Authorization: "),
		"curl -u a:":     fill("curl -u ab:"),
		"curl -u secret": fill("curl -u ab:" + anySecret + " "),
		"begin":          fill("-----BEGIN PRIVATE KEY"),
		"begin end":      fill("-----BEGIN PRIVATE KEY-----\n"),
		"url":            fill("://a:"),
		"urls":           fill("x://a:" + anySecret + "@b "),
		"bearer":         fill("bearer abcdefghijklmnop"),
		"jwt":            fill("eyJabcdefghijklmnopqrstuvwxyz."),
		"hook":           fill("https://hooks.slack.com "),
		"masks":          fill("[redacted:jwt]"),
		"half masks":     fill("[redacted:"),
		"json secrets":   "[\"" + fill("token = '"+anySecret+"', ") + "\"]",
		"lines of json":  fill("{\"token\": \"" + anySecret + "\"}\n"),
		"mount":          "--mount=type=secret, " + fill("token='"+anySecret+"' "),
	}
}

// Nothing grows faster than the text: what is found in it, and masked, holds to the promises at any size.
func TestHostile(t *testing.T) {
	r := rules(t, "")
	for name, text := range hostile(20 << 10) {
		got, found := r.Mask(text)
		if err := check(r, text, got, found); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// BenchmarkHostile is the same for two sizes: the speed must not fall with the size.
func BenchmarkHostile(b *testing.B) {
	r := rules(b, "")
	for _, size := range []int{100 << 10, 1 << 20} {
		texts := hostile(size)
		for _, name := range sortedKeys(texts) {
			b.Run(fmt.Sprintf("%s/%dK", name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(texts[name])))
				done := cpuRate(b)
				for b.Loop() {
					r.Mask(texts[name])
				}
				done(len(texts[name]))
			})
		}
	}
}

func sortedKeys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
