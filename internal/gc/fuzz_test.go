package gc

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// FuzzScanIDs: each id that stands in the bytes is noted, however they come, and nothing that is none. One that is not noted is
// a blob that is removed.
func FuzzScanIDs(f *testing.F) {
	id := "blake3-" + strings.Repeat("0a", 32)
	f.Add([]byte("x"+id+id+"blake3-"+id[:70]+"\x00"+id), []byte{3, 70, 1, 200})
	f.Add([]byte("blake3-blake3-"+id[7:]+"g"), []byte{7})
	form := regexp.MustCompile("^blake3-[0-9a-f]{64}$")
	f.Fuzz(func(t *testing.T, data, cuts []byte) {
		var want, got []string
		for i := range data {
			if part := data[i:min(i+71, len(data))]; form.Match(part) {
				want = append(want, string(part))
			}
		}
		if err := scanIDs(&pieces{bytes.NewReader(data), cuts}, func(id string) { got = append(got, id) }); err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		slices.Sort(got)
		if want, got = slices.Compact(want), slices.Compact(got); !slices.Equal(want, got) {
			t.Errorf("%q: %q, want %q", data, got, want)
		}
	})
}

// pieces gives what r has in pieces of these lengths.
type pieces struct {
	r    io.Reader
	cuts []byte
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.cuts) > 0 {
		b, p.cuts = b[:min(int(p.cuts[0])+1, len(b))], p.cuts[1:]
	}
	return p.r.Read(b)
}
