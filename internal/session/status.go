package session

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"

	"ctxfs/internal/context/token"
)

// metaField gives a string field of a meta.json, "" when it has none.
func metaField(data []byte, key string) string {
	var m map[string]json.RawMessage
	var s string
	if json.Unmarshal(data, &m) != nil || json.Unmarshal(m[key], &s) != nil {
		return ""
	}
	return s
}

// encoder gives a tokenizer by name, "" being the store's.
func (s *Store) encoder(name string) (*token.Encoding, error) {
	if name == "" || name == s.opt.Tokenizer {
		return s.enc()
	}
	s = s.host()
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.encs[name]; e != nil {
		return e, nil
	}
	e, err := token.New(name)
	if err == nil {
		s.encs[name] = e
	}
	return e, err
}

// counted keeps the number of sessions up, once it is known.
func (s *Store) counted(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count >= 0 {
		s.count += n
	}
}

// Count is the number of sessions in the store.
func (s *Store) Count() (int64, error) {
	s.mu.Lock()
	known := s.count
	s.mu.Unlock()
	if known >= 0 {
		return known, nil
	}
	n := int64(0)
	// What cannot be read is not counted: a user's odd folder must not take the number from all.
	_ = s.EachContainer(func(c *Container) error {
		names, err := c.names()
		n += int64(len(names))
		return err
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count = n
	return n, nil
}

// EachContainer visits the agents and models of every owner, in name order. What goes wrong with one keeps nobody from the
// others, since each user may have put anything into their own home: the errors are joined.
func (s *Store) EachContainer(visit func(*Container) error) error {
	owners, err := s.Owners()
	for _, o := range owners {
		err = errors.Join(err, s.ContainersOf(o, visit))
	}
	return err
}

// Owners lists those who have a part of the store: home/<uid> and shared/<name>.
func (s *Store) Owners() (list []string, err error) {
	for _, scope := range []string{"home", "shared"} {
		names, derr := s.dirs(scope)
		err = errors.Join(err, derr)
		for _, n := range names {
			list = append(list, path.Join(scope, n))
		}
	}
	return list, err
}

// ContainersOf visits the agents and models of one owner.
func (s *Store) ContainersOf(owner string, visit func(*Container) error) (err error) {
	for _, kind := range []string{"agent", "model"} {
		names, derr := s.dirs(path.Join(owner, kind))
		err = errors.Join(err, derr)
		for _, n := range names {
			if c, cerr := s.Container(path.Join(owner, kind, n)); cerr == nil { // else a folder of another kind
				err = errors.Join(err, visit(c))
			}
		}
	}
	return err
}

// dirs lists the folders in rel; a rel that is not there has none.
func (s *Store) dirs(rel string) ([]string, error) {
	entries, err := s.dir.ReadDir(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && e.Name() != StateDir {
			names = append(names, e.Name())
		}
	}
	return names, err
}
