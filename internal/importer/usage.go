package importer

import "encoding/json"

// usageOf gives counts of tokens under the names that most logs use (Anthropic's: input_tokens, output_tokens,
// cache_read_input_tokens, cache_creation_input_tokens); other members stay as they are. It gives nil for none.
func usageOf(o object) json.RawMessage {
	var b builder
	for _, m := range o {
		if !void(m.val) {
			b.raw(usageName(m.key), m.val)
		}
	}
	if b.b == nil {
		return nil
	}
	return b.end()
}

func usageName(key string) string {
	switch key {
	case "input", "prompt_tokens":
		return "input_tokens"
	case "output", "completion_tokens":
		return "output_tokens"
	case "cached", "cacheRead", "cache_read_tokens":
		return "cache_read_input_tokens"
	case "cacheWrite", "cache_write_tokens":
		return "cache_creation_input_tokens"
	case "total", "totalTokens":
		return "total_tokens"
	case "thoughts", "reasoning":
		return "reasoning_tokens"
	case "tool":
		return "tool_tokens"
	}
	return key
}
