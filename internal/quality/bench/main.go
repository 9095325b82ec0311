// Command bench prints the tables of `make bench-quality`.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"ctxfs/internal/context/token"
	"ctxfs/internal/quality"
	"ctxfs/internal/quality/corpus"
)

func main() {
	misses := flag.Bool("misses", false, "list the evidence that is not found, on stderr")
	flag.Parse()
	dir := corpus.Dir()
	if dir == "" {
		fmt.Println("SKIP: ../shared/data is not here")
		return
	}
	t, err := token.New(token.Default)
	if err != nil {
		log.Fatal(err)
	}
	var out io.Writer
	if *misses {
		out = os.Stderr
	}
	if err := locomo(t, dir, out); err != nil {
		log.Fatal(err)
	}
}

func locomo(t *token.Encoding, dir string, misses io.Writer) error {
	convs, err := corpus.LoCoMo(dir)
	if err != nil {
		return err
	}
	for _, budget := range []int{1000, 2000, 4000} {
		var sum quality.Recall
		for _, c := range convs {
			var m io.Writer
			if budget == 4000 {
				m = misses
			}
			r, err := quality.Evidence(t, c, budget, m)
			if err != nil {
				return err
			}
			fmt.Printf("%6d %-20s %v of %d\n", budget, c.Name, r, r.Of)
			sum.Any, sum.All, sum.Of = sum.Any+r.Any, sum.All+r.All, sum.Of+r.Of
		}
		fmt.Printf("%6d %-20s %v of %d\n", budget, "all", sum, sum.Of)
	}
	return nil
}
