package cas

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

// TestSum holds Sum to the reference's test vector for empty input (BLAKE3-team/BLAKE3, test_vectors.json) and to
// that of "abc".
func TestSum(t *testing.T) {
	for in, want := range map[string]string{
		"":    "blake3-af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
		"abc": "blake3-6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85",
	} {
		if got := Sum([]byte(in)).String(); got != want {
			t.Errorf("Sum(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	id := Sum([]byte("x"))
	got, err := Parse(id.String())
	if err != nil || got != id {
		t.Errorf("round trip: %v, %v", got, err)
	}
	h := hex.EncodeToString(id[:])
	for _, bad := range []string{"", "blake3-", h, "blake3-" + h[1:], "blake3-" + h + "0", "blake3-" + strings.ToUpper(h),
		"BLAKE3-" + h, "sha256-" + h, "blake3-" + h[:63] + "g", " blake3-" + h, "blake3-" + h[:62] + "\n0", "blake3-" + h[:62] + "../"} {
		if id, err := Parse(bad); !errors.Is(err, ErrBadID) {
			t.Errorf("Parse(%q) = %v, %v, want ErrBadID", bad, id, err)
		}
	}
}

func TestMatches(t *testing.T) {
	const abc256 = "sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // FIPS 180-2, B.1
	abc := []byte("abc")
	for _, c := range []struct {
		name string
		data []byte
		want bool
	}{
		{abc256, abc, true},
		{abc256, []byte("abd"), false},
		{strings.ToUpper(abc256), abc, false},
		{Sum(abc).String(), abc, true},
		{Sum(abc).String(), nil, false},
		{"sha256-", abc, false}, {"", abc, false}, {"md5-900150983cd24fb0d6963f7d28e17f72", abc, false},
	} {
		if got := Matches(c.name, c.data); got != c.want {
			t.Errorf("Matches(%q, %q) = %v", c.name, c.data, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Sum(nil).String())
	f.Add("sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
	f.Add("blake3-../../../../etc/passwd")
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := Parse(s); err == nil && id.String() != s {
			t.Errorf("%q reads as %v", s, id)
		}
	})
}
