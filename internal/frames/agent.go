package frames

import (
	"encoding/json"
	"strings"
)

// cursor reads what resume and follow have of their own.
func (r *Request) cursor(m members) error {
	if r.Op == Follow {
		r.Follow = true
	}
	raw, ok := m["after"]
	if ok && len(raw) > 0 && raw[0] >= '0' && raw[0] <= '9' {
		raw = json.RawMessage(`"` + string(raw) + `"`) // a record's number
		m["after"] = raw
	}
	after, _, err := m.text("after")
	if err != nil {
		return err
	}
	if len(after) > MaxID {
		return Refuse(EINVAL, "after is longer than %d bytes", MaxID)
	}
	r.After = after
	if raw, ok := m["follow"]; ok && r.Op == Resume {
		if json.Unmarshal(raw, &r.Follow) != nil {
			return Refuse(EINVAL, "follow is true or false")
		}
	}
	return nil
}

// agent reads what the agents' ops have.
func (r *Request) agent(m members) (err error) {
	if !r.OfAgent() {
		return nil
	}
	for _, f := range []struct {
		key string
		to  *string
	}{{"status", &r.Status}, {"code", &r.Code}, {"name", &r.Name}, {"role", &r.Role}} {
		if *f.to, _, err = m.text(f.key); err != nil {
			return err
		}
	}
	if r.Text, r.HasText, err = m.text("text"); err != nil {
		return err
	}
	if r.Op == Fail && !r.HasText {
		if r.Text, _, err = m.text("message"); err != nil {
			return err
		}
	}
	r.Content = m["content"]
	if r.Op == ToolCall {
		r.Content = m["input"]
	}
	return r.complete(m)
}

// complete checks that an agent's frame has what its op needs.
func (r *Request) complete(m members) error {
	switch r.Op {
	case Delta:
		if !r.HasText {
			return Refuse(EINVAL, "text is missing")
		}
	case Done:
		if r.Status == "" {
			r.Status = StatusOK
		}
		if r.Status != StatusOK && r.Status != StatusError && r.Status != StatusCancelled {
			return Refuse(EINVAL, "status is ok, error or cancelled, not %.20q", r.Status)
		}
	case Message:
		if r.Role == "" || len(r.Role) > 32 {
			return Refuse(EINVAL, "role is missing")
		}
		if len(r.Content) == 0 || r.Content[0] != '"' && r.Content[0] != '[' {
			return Refuse(EINVAL, "content is a string or a list of blocks")
		}
		if raw, ok := m["is_error"]; ok && json.Unmarshal(raw, &r.IsError) != nil {
			return Refuse(EINVAL, "is_error is true or false")
		}
	case ToolCall:
		if r.Name == "" {
			return Refuse(EINVAL, "name is missing")
		}
	case Usage:
		for i, key := range []string{"input_tokens", "output_tokens"} {
			if raw, ok := m[key]; ok && json.Unmarshal(raw, &r.Tokens[i]) != nil {
				return Refuse(EINVAL, "%s is a number", key)
			}
		}
	}
	if strings.ContainsRune(r.Text, 0) {
		return Refuse(EINVAL, "text has a NUL")
	}
	return nil
}
