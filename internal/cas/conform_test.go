package cas_test

import (
	"os"
	"path/filepath"
	"testing"

	"ctxfs/internal/beneath"
	"ctxfs/internal/cas"
	"ctxfs/internal/cas/castest"
)

func TestDirConforms(t *testing.T) {
	tops := map[castest.Store]string{}
	castest.Conform(t,
		func(t *testing.T) castest.Store {
			top := t.TempDir()
			s := open(t, top)
			tops[s] = top
			return s
		},
		func(t *testing.T, s castest.Store) castest.Store { return open(t, tops[s]) },
		func(t *testing.T, s castest.Store, id cas.ID) {
			name := id.String()
			p := filepath.Join(tops[s], "deep", "blob", name[7:9], name)
			b, err := os.ReadFile(p)
			if err == nil {
				b[len(b)/2] ^= 1
				err = os.Chmod(p, 0o600)
			}
			if err == nil {
				err = os.WriteFile(p, b, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
}

func open(t *testing.T, top string) *cas.Dir {
	root, err := beneath.Open(top)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return cas.NewDir(root, "deep/blob", beneath.Owner{})
}
