package token

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// BenchmarkCount prints MB/s on texts of real sessions. BenchmarkOracle does so for the other implementation.
func BenchmarkCount(b *testing.B) {
	for _, name := range Names() {
		b.Run(name, func(b *testing.B) {
			e := open(b, name)
			count(b, mixed(b, 4<<20, 1), e.Count)
		})
	}
}

func BenchmarkOracle(b *testing.B) {
	count(b, mixed(b, 1<<20, 1), oracle(b, Default))
}

// BenchmarkKinds shows what is fast and what is slow.
func BenchmarkKinds(b *testing.B) {
	e := open(b, Default)
	for name, unit := range map[string]string{
		"english":  "It was the best of times, it was the worst of times; the age of wisdom, and of foolishness.\n",
		"go":       "\tif err := run(ctx, cfg.Paths[i]); err != nil {\n\t\treturn fmt.Errorf(\"run: %w\", err)\n\t}\n",
		"json":     `{"type":"tool_result","tool_use_id":"toolu_01AbC9xYzQ","content":[{"type":"text","text":"ok"}]},`,
		"numbers":  "2026-03-14T15:09:26.535Z 0xdeadbeef 192.168.10.1:8080 3.14159265358979\n",
		"base64":   "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAYAAACqaXHeAAAABHNCSVQICAgIfAhkiAAAAAlwSFlz/Q8+nJ2m",
		"chinese":  "敏捷的棕色狐狸跳过了懒狗。我们需要一个更好的解决方案，",
		"russian":  "Съешь ещё этих мягких французских булок, да выпей чаю. ",
		"emoji":    "👩‍💻🚀✅ done 🎉 ",
		"indented": "                    <div>\n                        <span/>\n\n\n",
	} {
		b.Run(name, func(b *testing.B) {
			count(b, []string{strings.Repeat(unit, 1+1<<16/len(unit))}, e.Count)
		})
	}
}

// BenchmarkWorst prints the speed on texts of few or no spaces, of three sizes: it should not depend on the size.
func BenchmarkWorst(b *testing.B) {
	for _, name := range Names()[:2] {
		e := open(b, name)
		units := worst()
		for _, unit := range slices.Sorted(maps.Keys(units)) {
			for _, kilobytes := range []int{64, 1 << 10, 8 << 10} {
				b.Run(fmt.Sprintf("%s/%s/%dKB", name, strconv.QuoteToASCII(unit), kilobytes), func(b *testing.B) {
					count(b, []string{repeatTo(units[unit], kilobytes<<10)}, e.Count)
				})
			}
		}
	}
}

// BenchmarkCut cuts a long text to a short one.
func BenchmarkCut(b *testing.B) {
	e := open(b, Default)
	for name, text := range map[string]string{
		"english": strings.Repeat("It was the best of times, it was the worst of times. ", 20000),
		"json":    strings.Repeat(`{"a":[1,2,{"b":"c"}]},`, 50000),
		"x":       strings.Repeat("x", 1<<18),
	} {
		b.Run("prefix/"+name, func(b *testing.B) {
			for range b.N {
				e.Prefix(text, 1000)
			}
		})
		b.Run("suffix/"+name, func(b *testing.B) {
			for range b.N {
				e.Suffix(text, 1000)
			}
		})
	}
}

func count(b *testing.B, texts []string, count func(string) int) {
	bytes := 0
	for _, text := range texts {
		bytes += len(text)
	}
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		for _, text := range texts {
			count(text)
		}
	}
}
