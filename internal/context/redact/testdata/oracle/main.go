// Command oracle makes ../gitleaks.jsonl.zst: what gitleaks itself finds in texts. It stands outside of the module, for it
// needs all of gitleaks. In a copy of github.com/zricethezav/gitleaks/v8@v8.30.1, let utils.Validate and
// ValidateWithPaths (cmd/generate/config/utils) write their texts as lines ["RULE","tp" or "fp","TEXT"] ("ptp", "pfp" with
// paths) and go on after a failure, run cmd/generate/config, put this file into cmd/oracle, and
//
//	go run ./cmd/oracle dump.jsonl | zstd -19 > gitleaks.jsonl.zst
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"sort"
	"strings"
	"sync"

	"github.com/rs/zerolog"
	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/logging"
)

type row struct {
	Text string      `json:"t"`
	Find [][2]string `json:"f"`
}

func main() {
	logging.Logger = logging.Logger.Level(zerolog.Disabled)
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		panic(err)
	}
	d.IgnoreGitleaksAllow = true
	var texts []string
	seen := map[string]bool{}
	addt := func(s string) {
		if !seen[s] && len(s) < 20000 {
			seen[s] = true
			texts = append(texts, s)
		}
	}
	rnd := rand.New(rand.NewSource(1))
	f, _ := os.Open(os.Args[1])
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<26)
	var tps []string
	n := map[string]int{}
	for sc.Scan() {
		var a [3]string
		if json.Unmarshal(sc.Bytes(), &a) != nil {
			panic("x")
		}
		n[a[0]+a[1]]++
		if strings.HasSuffix(a[1], "tp") && n[a[0]+a[1]] > 8 && rnd.Intn(6) != 0 {
			continue
		}
		addt(a[2])
		if strings.HasSuffix(a[1], "tp") {
			tps = append(tps, a[2])
		}
	}
	for i, t := range tps {
		if len(t) < 4 {
			continue
		}
		switch i % 4 {
		case 0: // a character less
			k := rnd.Intn(len(t))
			addt(t[:k] + t[k+1:])
		case 1: // another case
			addt(strings.ToUpper(t))
		case 2: // cut off
			addt(t[:len(t)-1-rnd.Intn(len(t)/2)])
		case 3: // as JSON
			b, _ := json.Marshal(map[string]string{"output": t})
			addt(string(b))
		}
		if i%3 == 0 { // several, in a long text, with unicode between
			pad := strings.Repeat([]string{"the key is here. ", "lorem\nipsum ", "日本語 ", "x", "a_b-c.", "=\"'"}[rnd.Intn(6)], rnd.Intn(60))
			addt(t + pad + tps[rnd.Intn(len(tps))] + "\n" + pad + tps[rnd.Intn(len(tps))])
		}
	}
	rows := make([]row, len(texts))
	var wg sync.WaitGroup
	ch := make(chan int)
	for range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range ch {
				var fs [][2]string
				for _, x := range d.DetectString(texts[i]) {
					fs = append(fs, [2]string{x.RuleID, x.Secret})
				}
				sort.Slice(fs, func(a, b int) bool { return fs[a][0]+"\x00"+fs[a][1] < fs[b][0]+"\x00"+fs[b][1] })
				rows[i] = row{texts[i], fs}
			}
		}()
	}
	for i := range texts {
		ch <- i
	}
	close(ch)
	wg.Wait()
	out := bufio.NewWriter(os.Stdout)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	rules := map[string]int{}
	total := 0
	for _, r := range rows {
		enc.Encode(r)
		for _, x := range r.Find {
			rules[x[0]]++
			total++
		}
	}
	out.Flush()
	fmt.Fprintln(os.Stderr, len(rows), "texts", total, "findings", len(rules), "rules")
}
