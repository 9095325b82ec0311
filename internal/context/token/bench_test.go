package token

import (
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

// BenchmarkWorst repeats one unit to two lengths: MB/s must hardly fall from the first to the second.
func BenchmarkWorst(b *testing.B) {
	e := open(b, Default)
	for name, unit := range map[string]string{
		"x": "x", "ab": "ab", "space": " ", "spaceline": " \n", "digit": "7", "equals": "=", "han": "好", "mark": "\u0301",
		"Han-A": "好A",
	} {
		for _, size := range []int{64 << 10, 1 << 20} {
			b.Run(name+"/"+map[bool]string{false: "64K", true: "1M"}[size > 1<<16], func(b *testing.B) {
				count(b, []string{strings.Repeat(unit, size/len(unit))}, e.Count)
			})
		}
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for range b.N {
		open(b, Default)
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
