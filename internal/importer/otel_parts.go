package importer

import (
	"encoding/json"
	"strings"
)

// otelMessage and otelPart are a message's of the conventions for generative AI (gen_ai.input.messages, gen_ai.output.messages).
type otelMessage struct {
	Role  string     `json:"role"`
	Parts []otelPart `json:"parts"`
}

type otelPart struct {
	Type      string          `json:"type"`
	Content   string          `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// partOf gives a block as such a part. Media are named, and not written.
func partOf(b object) otelPart {
	switch kind := b.str("type"); kind {
	case "text":
		return otelPart{Type: "text", Content: b.str("text")}
	case "thinking":
		return otelPart{Type: "reasoning", Content: b.str("thinking")}
	case "tool_use", "server_tool_use":
		return otelPart{Type: "tool_call", ID: b.str("id"), Name: b.str("name"), Arguments: json.RawMessage(b.get("input"))}
	default:
		return otelPart{Type: firstSet(kind, "other")}
	}
}

// otelLogs puts records into a LogsData object.
func otelLogs(records []otelRecord) any {
	type scope struct {
		Name string `json:"name"`
	}
	type scopeLogs struct {
		Scope   scope        `json:"scope"`
		Records []otelRecord `json:"logRecords"`
	}
	type resource struct {
		Attrs []otelAttr `json:"attributes"`
	}
	type resourceLogs struct {
		Resource resource    `json:"resource"`
		Scopes   []scopeLogs `json:"scopeLogs"`
	}
	name := "ctxfs"
	return struct {
		Logs []resourceLogs `json:"resourceLogs"`
	}{[]resourceLogs{{resource{[]otelAttr{{"service.name", otelValue{String: &name}}}}, []scopeLogs{{scope{name}, records}}}}}
}

// otelProvider is who serves a model (gen_ai.provider.name), as far as the program that wrote the log, or the model's name, tells.
func otelProvider(format, model string) string {
	for _, known := range []struct{ begin, provider string }{
		{"claude", "anthropic"}, {"gpt-", "openai"}, {"o1", "openai"}, {"o3", "openai"}, {"o4", "openai"}, {"gemini", "gcp.gemini"},
		{"mistral", "mistral_ai"}, {"deepseek", "deepseek"}, {"grok", "x_ai"},
	} {
		if strings.HasPrefix(model, known.begin) {
			return known.provider
		}
	}
	return map[string]string{string(ClaudeCode): "anthropic", string(Codex): "openai", string(GeminiCLI): "gcp.gemini"}[format]
}

// tokens are what an inference took.
type tokens struct{ in, out, cacheRead, cacheWrite int64 }

// tokensOf reads them. The conventions count cached tokens among those of the input, as OpenAI and Google do; others count them beside it.
func tokensOf(u object, provider string) tokens {
	n := func(names ...string) (n int64) {
		for _, name := range names {
			if json.Unmarshal(u.get(name), &n) == nil && n > 0 {
				return n
			}
		}
		return 0
	}
	t := tokens{in: n("input_tokens", "prompt_tokens"), out: n("output_tokens", "completion_tokens"),
		cacheRead: n("cache_read_input_tokens"), cacheWrite: n("cache_creation_input_tokens")}
	if provider != "openai" && provider != "gcp.gemini" {
		t.in += t.cacheRead + t.cacheWrite
	}
	if t.cacheRead == 0 {
		t.cacheRead = n("cached_input_tokens")
	}
	return t
}

func (t tokens) attributes(r *otelRecord) {
	r.number("gen_ai.usage.input_tokens", t.in)
	r.number("gen_ai.usage.output_tokens", t.out)
	r.number("gen_ai.usage.cache_read.input_tokens", t.cacheRead)
	r.number("gen_ai.usage.cache_creation.input_tokens", t.cacheWrite)
}
