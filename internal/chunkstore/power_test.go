package chunkstore

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ctxfs/internal/cas"
)

// powerLoss gives states in which the disk has of what was added to files any 512s, and of the others what was there.
func powerLoss(old, now files, seeds uint64) (out []files) {
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 5))
		state := maps.Clone(now)
		for _, name := range slices.Sorted(maps.Keys(now)) {
			data, was := slices.Clone(now[name]), len(old[name])
			for at := was / sector * sector; at < len(data); at += sector {
				if r.IntN(3) == 0 || seed == 0 {
					clear(data[max(at, was):min(at+sector, len(data))])
				}
			}
			state[name] = data
		}
		out = append(out, state)
	}
	return out
}

// recovers holds a store that a crash left to its promise: what was acknowledged is there, nothing but torn ends is wrong, and
// nothing is after it was written to.
func recovers(t *testing.T, state files, acked map[cas.ID][]byte, more []byte) {
	t.Helper()
	top := state.lay(t)
	ro := at(t, top, Options{ReadOnly: true})
	for id, data := range acked {
		want(t, ro, id, data)
	}
	_, err := ro.Check(func(name string, err error) {
		if !isTorn(err) {
			t.Errorf("%s: %v", name, err)
		}
	})
	must(t, err)
	must(t, ro.Close())
	s := at(t, top, Options{Tuning: Tuning{Frame: 64 << 10}})
	acked = maps.Clone(acked)
	acked[put(t, s, more)] = more
	seal(t, s)
	must(t, s.Close())
	s = at(t, top, Options{ReadOnly: true})
	for id, data := range acked {
		want(t, s, id, data)
	}
	_, err = s.Check(func(name string, err error) { t.Errorf("after it was used: %s: %v", name, err) })
	must(t, err)
}

// TestPowerLossOfJournal: of records that were not synced the disk has any 512s.
func TestPowerLossOfJournal(t *testing.T) {
	s, top := newStore(t)
	acked := map[cas.ID][]byte{}
	a, b := noise(1, 9001), noise(2, 5000)
	acked[put(t, s, a)] = a
	old := snapshot(t, top)
	must(t, s.Update(func(tx *Tx) error {
		for i := range 4 {
			if _, err := tx.Put(noise(uint64(10+i), 700_000)); err != nil {
				return err
			}
		}
		return nil
	}))
	for _, state := range powerLoss(old, snapshot(t, top), 12) {
		recovers(t, state, acked, b)
	}
	fresh := files{formatName: old[formatName]} // the first records of a journal too
	for _, state := range powerLoss(fresh, old, 12) {
		recovers(t, state, map[cas.ID][]byte{}, b)
	}
}

// TestPowerLossOfPack: of a frame that is on its way from a journal to a pack the disk has any 512s.
func TestPowerLossOfPack(t *testing.T) {
	for _, second := range []bool{false, true} {
		top := t.TempDir()
		s := at(t, top, Options{Tuning: Tuning{Frame: 64 << 10}})
		acked := map[cas.ID][]byte{}
		a, b := noise(20, 64<<10), noise(21, 64<<10)
		acked[put(t, s, a)] = a
		if second {
			seal(t, s)
			acked[put(t, s, b)] = b
		}
		old := snapshot(t, top+"/chunk")
		seal(t, s)
		now := maps.Clone(old) // journals go after the pack is on disk
		for name, data := range snapshot(t, top+"/chunk") {
			if strings.HasPrefix(name, packPrefix) {
				now[name] = data
			}
		}
		if len(now) == len(old) && !second {
			t.Fatal("no pack was made")
		}
		for _, state := range powerLoss(old, now, 24) {
			if !second { // its head is on disk before it has its name
				copy(state[packPrefix+hex16(0)], now[packPrefix+hex16(0)][:packHead])
			}
			recovers(t, state, acked, noise(9, 3000))
		}
	}
}
