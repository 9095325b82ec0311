package opencode

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
)

// info is what is exported of a session, in that order.
type info struct {
	ID          string          `json:"id"`
	Slug        string          `json:"slug"`
	ProjectID   string          `json:"projectID"`
	WorkspaceID *string         `json:"workspaceID,omitempty"`
	Directory   string          `json:"directory"`
	Path        *string         `json:"path,omitempty"`
	ParentID    *string         `json:"parentID,omitempty"`
	Title       string          `json:"title"`
	Agent       *string         `json:"agent,omitempty"`
	Model       json.RawMessage `json:"model,omitempty"`
	Version     string          `json:"version"`
	Summary     *summary        `json:"summary,omitempty"`
	Cost        *float64        `json:"cost,omitempty"`
	Tokens      *tokens         `json:"tokens,omitempty"`
	Share       *share          `json:"share,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
	Revert      json.RawMessage `json:"revert,omitempty"`
	Permission  json.RawMessage `json:"permission,omitempty"`
	Time        times           `json:"time"`
}

type summary struct {
	Additions int64           `json:"additions"`
	Deletions int64           `json:"deletions"`
	Files     int64           `json:"files"`
	Diffs     json.RawMessage `json:"diffs,omitempty"`
}

type tokens struct {
	Input     int64 `json:"input"`
	Output    int64 `json:"output"`
	Reasoning int64 `json:"reasoning"`
	Cache     struct {
		Read  int64 `json:"read"`
		Write int64 `json:"write"`
	} `json:"cache"`
}

type share struct {
	URL string `json:"url"`
}

type times struct {
	Created    int64  `json:"created"`
	Updated    int64  `json:"updated"`
	Compacting *int64 `json:"compacting,omitempty"`
	Archived   *int64 `json:"archived,omitempty"`
}

// row is a row by the names of its columns: which there are differs from version to version.
type row map[string]any

func readInfo(tx *sql.Tx, id string) (info, error) {
	rows, err := tx.Query(`select * from session where id = ?`, id)
	if err != nil {
		return info{}, err
	}
	r, err := firstRow(rows)
	if err = errors.Join(err, rows.Close()); err != nil {
		return info{}, fmt.Errorf("session %s: %w", id, err)
	}
	i := info{ID: r.text("id"), Slug: r.text("slug"), ProjectID: r.text("project_id"), WorkspaceID: r.maybe("workspace_id"), Directory: r.text("directory"),
		Path: r.maybe("path"), ParentID: r.maybe("parent_id"), Title: r.text("title"), Agent: r.maybe("agent"), Model: r.json("model"), Version: r.text("version"),
		Metadata: r.json("metadata"), Revert: r.json("revert"), Permission: r.json("permission"),
		Time: times{r.number("time_created"), r.number("time_updated"), r.maybeNumber("time_compacting"), r.maybeNumber("time_archived")}}
	if r["summary_additions"] != nil || r["summary_deletions"] != nil || r["summary_files"] != nil {
		i.Summary = &summary{r.number("summary_additions"), r.number("summary_deletions"), r.number("summary_files"), r.json("summary_diffs")}
	}
	if url := r.maybe("share_url"); url != nil {
		i.Share = &share{*url}
	}
	if _, ok := r["tokens_input"]; ok {
		t := &tokens{Input: r.number("tokens_input"), Output: r.number("tokens_output"), Reasoning: r.number("tokens_reasoning")}
		t.Cache.Read, t.Cache.Write = r.number("tokens_cache_read"), r.number("tokens_cache_write")
		cost, _ := r["cost"].(float64)
		i.Tokens, i.Cost = t, &cost
	}
	return i, nil
}

func firstRow(rows *sql.Rows) (row, error) {
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	if !rows.Next() {
		return nil, errors.Join(rows.Err(), sql.ErrNoRows)
	}
	values, into := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return nil, err
	}
	r := row{}
	for i, name := range names {
		r[name] = values[i]
	}
	return r, nil
}

func (r row) text(name string) string {
	s, _ := r[name].(string)
	return s
}

func (r row) maybe(name string) *string {
	if s, ok := r[name].(string); ok {
		return &s
	}
	return nil
}

func (r row) number(name string) int64 {
	n, _ := r[name].(int64)
	return n
}

func (r row) maybeNumber(name string) *int64 {
	if n, ok := r[name].(int64); ok {
		return &n
	}
	return nil
}

// json returns a column that holds JSON, nil for none.
func (r row) json(name string) json.RawMessage {
	if s := []byte(r.text(name)); json.Valid(s) && string(s) != "null" {
		return s
	}
	return nil
}

// message is a message with its parts.
type message struct {
	id, session string
	data        json.RawMessage
	parts       []part
}

type part struct {
	id   string
	data json.RawMessage
}

func readMessages(tx *sql.Tx, session string) ([]message, error) {
	rows, err := tx.Query(`select id, data from message where session_id = ? order by time_created, id`, session)
	if err != nil {
		return nil, err
	}
	var list []message
	at := map[string]int{}
	for rows.Next() {
		m := message{session: session}
		if err := rows.Scan(&m.id, (*[]byte)(&m.data)); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		at[m.id] = len(list)
		list = append(list, m)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	if rows, err = tx.Query(`select id, message_id, data from part where session_id = ? order by message_id, id`, session); err != nil {
		return nil, err
	}
	for rows.Next() {
		var p part
		var of string
		if err := rows.Scan(&p.id, &of, (*[]byte)(&p.data)); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		if i, ok := at[of]; ok {
			list[i].parts = append(list[i].parts, p)
		}
	}
	return list, errors.Join(rows.Err(), rows.Close())
}

// complete reports whether neither the message nor its parts change any more: an answer ended, each call has its result. OpenCode
// notes why an answer ended (finish) before it notes when (time.completed).
func (m *message) complete() bool {
	var info struct {
		Role  string
		Error json.RawMessage
		Time  struct{ Completed int64 }
	}
	if json.Unmarshal(m.data, &info) != nil {
		return true // it is what it is
	}
	if info.Role != "assistant" {
		return len(m.parts) > 0
	}
	for _, p := range m.parts {
		var tool struct {
			State struct{ Status string }
		}
		if json.Unmarshal(p.data, &tool) == nil && (tool.State.Status == "pending" || tool.State.Status == "running") {
			return false
		}
	}
	return info.Time.Completed > 0 || len(info.Error) > 0
}

// export writes a message as an export has it: the ids are members of the data.
func (m *message) export() (json.RawMessage, error) {
	out := struct {
		Info  json.RawMessage   `json:"info"`
		Parts []json.RawMessage `json:"parts"`
	}{Parts: []json.RawMessage{}}
	var err error
	if out.Info, err = with(m.data, member{"id", m.id}, member{"sessionID", m.session}); err != nil {
		return nil, fmt.Errorf("message %s: %w", m.id, err)
	}
	for _, p := range m.parts {
		data, err := with(p.data, member{"id", p.id}, member{"sessionID", m.session}, member{"messageID", m.id})
		if err != nil {
			return nil, fmt.Errorf("part %s: %w", p.id, err)
		}
		out.Parts = append(out.Parts, data)
	}
	return encode(out)
}

// encode writes JSON as JavaScript does: json.Marshal writes <, > and & otherwise.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// member is one of a JSON object, whose value is a string.
type member struct{ name, value string }

// with appends members to an object.
func with(object json.RawMessage, members ...member) (json.RawMessage, error) {
	object = bytes.TrimSpace(object)
	if len(object) < 2 || object[0] != '{' || !json.Valid(object) {
		return nil, errors.New("its data is not a JSON object")
	}
	b := bytes.Clone(object[:len(object)-1])
	for _, m := range members {
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(b)) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(append(b, '"'), m.name...), '"', ':'), value...)
	}
	return append(b, '}'), nil
}
