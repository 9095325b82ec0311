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
	if name == "" || name == s.enc.Name() {
		return s.enc, nil
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
	err := s.EachContainer(func(c *Container) error {
		names, err := c.names()
		n += int64(len(names))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count = n
	return n, nil
}

// EachContainer visits the agents and models of every owner, in name order.
func (s *Store) EachContainer(visit func(*Container) error) error {
	for _, scope := range []string{"home", "shared"} {
		owners, err := s.dirs(scope)
		if err != nil {
			return err
		}
		for _, o := range owners {
			for _, kind := range []string{"agent", "model"} {
				if err := s.containersIn(path.Join(scope, o, kind), visit); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *Store) containersIn(rel string, visit func(*Container) error) error {
	names, err := s.dirs(rel)
	if err != nil {
		return err
	}
	for _, n := range names {
		c, err := s.Container(path.Join(rel, n))
		if err != nil {
			continue // a folder of another kind
		}
		if err := visit(c); err != nil {
			return err
		}
	}
	return nil
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
