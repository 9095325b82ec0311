package chunkstore

import (
	"os"
	"path/filepath"
	"testing"

	"ctxfs/internal/cas"
	"ctxfs/internal/cas/castest"
)

// TestConforms holds the store to the contract of blob stores, with its bytes in the journal, in the part file and in a
// pack.
func TestConforms(t *testing.T) {
	for _, state := range []string{"journal", "part", "pack"} {
		t.Run(state, func(t *testing.T) {
			tops := map[castest.Store]string{}
			castest.Conform(t,
				func(t *testing.T) castest.Store {
					top := t.TempDir()
					opt := Options{}
					if state != "journal" {
						opt.Tuning.Frame = 4 << 10
					}
					s := &settling{at(t, top, opt), state != "journal"}
					tops[s] = top
					return s
				},
				func(t *testing.T, s castest.Store) castest.Store { return at(t, tops[s], Options{}) },
				func(t *testing.T, s castest.Store, id cas.ID) { hit(t, filepath.Join(tops[s], "chunk"), s, id) })
		})
	}
}

// settling is a store that compresses after each Put.
type settling struct {
	*Store
	on bool
}

func (s *settling) Put(data []byte) (cas.ID, error) {
	id, err := s.Store.Put(data)
	if err == nil && s.on {
		err = s.Update(func(tx *Tx) error { return tx.Seal() })
	}
	return id, err
}

// hit flips a bit of the file that has the last byte of the blob.
func hit(t *testing.T, top string, s castest.Store, id cas.ID) {
	st := s.(*settling).Store
	exts := st.blob(id).extents
	sg, _ := st.space.find(exts[len(exts)-1].End() - 1)
	if src, ok := sg.fr.load.(*sealed); ok {
		flip(t, filepath.Join(top, src.f.Name()), src.off+int64(src.z)/2)
		return
	}
	p := st.pending[len(st.pending)-1]
	name := p.tailName()
	if p.tail == nil {
		name = p.partName()
	}
	data, err := os.ReadFile(filepath.Join(top, name))
	must(t, err)
	flip(t, filepath.Join(top, name), int64(len(data))-100-int64(len(appendBlob(nil, st.blob(id)))))
}

func flip(t testing.TB, name string, at int64) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	b := make([]byte, 1)
	_, err = f.ReadAt(b, at)
	must(t, err)
	b[0] ^= 4
	_, err = f.WriteAt(b, at)
	must(t, err)
}
