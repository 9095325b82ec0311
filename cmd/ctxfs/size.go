package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// parseSize reads a number of bytes as coreutils take it: 500M, 10G, 1T and so on are powers of 1,024.
func parseSize(text string) (int64, error) {
	digits := strings.TrimRight(text, "KMGTPBi")
	shift := 0
	switch unit := strings.TrimSuffix(strings.TrimSuffix(text[len(digits):], "B"), "i"); unit {
	case "":
	case "K", "M", "G", "T", "P":
		shift = 10 * (1 + strings.Index("KMGTP", unit))
	default:
		return 0, fmt.Errorf("%q is not a size like 500M or 10G", text)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("%q is not a size like 500M or 10G", text)
	}
	return n << shift, nil
}
