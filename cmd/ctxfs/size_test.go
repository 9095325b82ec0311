package main

import "testing"

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "4096": 4096, "500M": 500 << 20, "10G": 10 << 30, "3KiB": 3 << 10, "2TB": 2 << 40, "1P": 1 << 50,
		"": 0, "G": 0, "0": 0, "-1": 0, "1.5G": 0, "10X": 0, "1GG": 0, "9999999999P": 0, "1iK": 0, "7 G": 0} {
		if n, err := parseSize(text); n != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
}
