package session

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// Description is what the program that a session was made for reports of it. An empty field reports nothing.
type Description struct {
	Client        string `json:"client,omitempty"`         // the program
	ClientSession string `json:"client_session,omitempty"` // its own id of the session
	ClientVersion string `json:"client_version,omitempty"`
	HostCWD       string `json:"host_cwd,omitempty"` // the directory that it worked in, as the host names it
	Model         string `json:"model,omitempty"`
	Title         string `json:"title,omitempty"`
	ParentSession string `json:"parent_session,omitempty"` // of a child agent's: the program's own id of the session that started it
}

// reportedKey is the member of meta.json that keeps what was reported last: a member beside it that differs was written by
// the agent, and stays.
const reportedKey = "reported"

// DescribePrefix begins the order that describes a session through a mount.
const DescribePrefix = "describe "

// Order returns the order that has a mount's daemon describe a session.
func (d Description) Order() (string, error) {
	data, err := json.Marshal(d.bounded())
	return DescribePrefix + string(data), err
}

// ParseDescription reads what follows DescribePrefix in an order.
func ParseDescription(data string) (d Description, err error) {
	if json.Unmarshal([]byte(data), &d) != nil {
		return d, refuse(Invalid, "a description is a JSON object of texts")
	}
	return d, nil
}

// bounded cuts the fields to what an order and meta.json have place for.
func (d Description) bounded() Description {
	for _, s := range []*string{&d.Client, &d.ClientSession, &d.ClientVersion, &d.Model, &d.Title, &d.ParentSession} {
		*s = start(*s)
	}
	if path.IsAbs(d.HostCWD) {
		d.HostCWD = path.Clean(d.HostCWD)
	}
	if len(d.HostCWD) >= unix.PathMax || strings.ContainsRune(d.HostCWD, 0) {
		d.HostCWD = ""
	}
	return d
}

// fields returns what is reported, by the names of meta.json.
func (d Description) fields() map[string]json.RawMessage {
	data, _ := json.Marshal(d) // texts always encode
	m := map[string]json.RawMessage{}
	_ = json.Unmarshal(data, &m)
	return m
}

// Describe enters into meta.json what a program reports of the session. What the agent wrote there stays. The file cwd,
// unless it was written, becomes HostCWD where the agent's root has that directory. Nothing is written when nothing changed.
func (x *Session) Describe(d Description, by Caller) error {
	d = d.bounded()
	x.ctlMu.Lock()
	defer x.ctlMu.Unlock()
	old, err := x.readFile("meta.json")
	if errors.Is(err, fs.ErrNotExist) {
		old, err = []byte("{}"), nil // a session that was made by hand
	}
	if err != nil {
		return err
	}
	m, changed, err := describe(old, d.fields(), x.identity())
	if err != nil {
		return err
	}
	if changed {
		keep := layout(m)
		ctl, _ := x.control("meta.json")
		if err := ctl.fits("meta.json", len(keep)); err != nil {
			return err
		}
		if err := x.put("meta.json", keep); err != nil {
			return err
		}
		x.controlChanged("meta.json", old, keep)
	}
	return x.enter(d.HostCWD, by)
}

// describe merges what is reported into a meta.json, and reports whether that changed it.
func describe(meta []byte, report map[string]json.RawMessage, identity map[string]string) (m map[string]json.RawMessage, changed bool, err error) {
	if json.Unmarshal(meta, &m) != nil || m == nil {
		return nil, false, refuse(Invalid, "meta.json is one JSON object")
	}
	var last map[string]json.RawMessage
	if json.Unmarshal(m[reportedKey], &last) != nil || last == nil {
		last = map[string]json.RawMessage{}
	}
	for key, now := range report {
		if _, fixed := identity[key]; fixed || sameJSON(last[key], now) {
			continue
		}
		if own, ok := m[key]; !ok || sameJSON(own, last[key]) {
			m[key] = now
		}
		last[key], changed = now, true
	}
	if changed {
		m[reportedKey], err = json.Marshal(last)
	}
	return m, changed, err
}

// enter moves a session that has no cwd of its own to a directory of the agent's root, if it is there; ctlMu is held.
func (x *Session) enter(cwd string, by Caller) error {
	if cwd == "" || cwd == "/" || x.Written("cwd") {
		return nil
	}
	keep, err := checkCWD(x, []byte(cwd), by)
	if err != nil {
		return nil // the root has no such directory: the usual case
	}
	if err := x.put("cwd", keep); err != nil {
		return err
	}
	x.controlChanged("cwd", nil, keep)
	return nil
}
