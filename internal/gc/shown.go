package gc

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"time"

	"ctxfs/internal/session"
)

// shown notes the blobs of a session's injections: all, or those that its pack_ttl still keeps. The lines stay: they say what
// was shown when, by its hash.
func (l *living) shown(rel string) error {
	data, err := l.store.Dir().ReadFile(rel, session.MaxControl)
	if err != nil {
		return unreadable(rel, err)
	}
	policy, err := l.store.Dir().ReadFile(path.Join(path.Dir(rel), "gc.policy"), session.MaxControl)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unreadable(rel, err)
	}
	rules, err := session.ParsePolicy(policy)
	if err != nil { // written past ctxfs: nothing is let go by what cannot be read
		rules = session.Policy{}
	}
	for _, line := range bytes.Split(data, []byte{'\n'}) {
		if rules.PackTTL > 0 && l.expired(line, rules.PackTTL) {
			continue
		}
		if err := scanIDs(bytes.NewReader(line), l.note); err != nil {
			return err
		}
	}
	return nil
}

// expired tells whether an injection is older than ttl. One whose time cannot be read is not.
func (l *living) expired(line []byte, ttl time.Duration) bool {
	var inj struct {
		CreatedAt time.Time `json:"created_at"`
	}
	return json.Unmarshal(line, &inj) == nil && !inj.CreatedAt.IsZero() && inj.CreatedAt.Add(ttl).Before(l.before)
}
