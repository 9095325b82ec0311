package pack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"runtime"
	"testing"

	"ctxfs/internal/record"
)

// growing makes a log of n records of about 1 KB: talk and tool rounds over a vocabulary that grows as text's does.
func growing(n int) []byte {
	rnd := rand.New(rand.NewSource(1))
	zipf := rand.NewZipf(rnd, 1.1, 4, 200_000)
	words := func(k int) string {
		var b bytes.Buffer
		for i := 0; i < k; i++ {
			fmt.Fprintf(&b, "w%s ", letters(zipf.Uint64()))
		}
		return b.String()
	}
	var out bytes.Buffer
	for i := 0; i < n; i++ {
		var m msg
		switch i % 8 {
		case 0:
			m = text("user", words(130))
		case 1, 3, 5:
			args, _ := json.Marshal(map[string]string{"file_path": fmt.Sprintf("/src/f%d.go", rnd.Intn(n/20+5)), "note": words(120)}) // strings marshal
			m = msg{"role": "assistant", "tool_calls": []msg{{"id": fmt.Sprintf("call_%d", i), "function": msg{"name": "read", "arguments": string(args)}}}}
		case 2, 4, 6:
			m = msg{"role": "tool", "tool_call_id": fmt.Sprintf("call_%d", i-1), "content": words(140)}
		default:
			m = text("assistant", words(130))
		}
		line, _ := json.Marshal(m) // maps of strings marshal
		out.Write(append(line, '\n'))
	}
	return out.Bytes()
}

// letters writes a number as a word.
func letters(n uint64) string {
	b := []byte{byte('a' + n%26)}
	for n /= 26; n > 0; n /= 26 {
		b = append(b, byte('a'+n%26), 'o')
	}
	return string(b)
}

// BenchmarkAppendAndPack is one append and the pack after it, on logs of different length.
func BenchmarkAppendAndPack(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			log := growing(n + 2000)
			h := record.NewMemory(log)
			w := NewWorkset(counter(b))
			for i := 1; i <= n; i++ {
				add(b, w, h, i)
			}
			build(b, w, h, 32000)
			b.ResetTimer()
			for i := 0; i < b.N; i++ {
				add(b, w, h, n+1+i%2000)
				build(b, w, h, 32000)
			}
		})
	}
}

// BenchmarkFold is the first index of an old session.
func BenchmarkFold(b *testing.B) {
	log := growing(10_000)
	b.SetBytes(int64(len(log)))
	for i := 0; i < b.N; i++ {
		fold(b, log)
	}
}

// BenchmarkMemory reports the bytes that the fold holds per record of about 1 KB.
func BenchmarkMemory(b *testing.B) {
	log := growing(50_000)
	for i := 0; i < b.N; i++ {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		w, _ := fold(b, log)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(w.Len()), "B/record")
		b.ReportMetric(float64(len(log))/float64(w.Len()), "B/line")
		runtime.KeepAlive(w)
	}
}
