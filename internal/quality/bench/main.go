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
	stable := flag.Int("stable", 0, "")
	next := flag.Int("next", 0, "")
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
	if *next > 0 {
		if err := nextStep(t, dir, *next); err != nil {
			log.Fatal(err)
		}
		return
	}
	if *stable > 0 {
		if err := stability(t, dir, *stable); err != nil {
			log.Fatal(err)
		}
		return
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

func stability(t *token.Encoding, dir string, every int) error {
	list, err := corpus.Coding(dir)
	if err != nil {
		return err
	}
	var sum quality.Stability
	for i, s := range list {
		if i%every != 0 {
			continue
		}
		r, err := quality.Replay(t, s, 32000)
		if err != nil {
			return err
		}
		sum.Add(r)
	}
	fmt.Printf("stability %.4f of %d; over budget %.4f of %d, used %.3f; reshaped %d\n", sum.Share/float64(sum.Packs), sum.Packs, sum.Over/float64(sum.OverOf), sum.OverOf, sum.Used/float64(sum.OverOf), sum.Reshaped)
	return nil
}

func nextStep(t *token.Encoding, dir string, every int) error {
	list, err := corpus.Coding(dir)
	if err != nil {
		return err
	}
	for _, b := range []int{8000, 32000} {
		var sum quality.NextStep
		for i, s := range list {
			if i%every != 0 {
				continue
			}
			r, err := quality.Steps(t, s, b)
			if err != nil {
				return err
			}
			sum.Add(r)
		}
		fmt.Printf("%d: edits %d pack %.3f tail %.3f; reads %d pack %.3f tail %.3f\n", b, sum.Edits, float64(sum.Pack)/float64(sum.Edits), float64(sum.Tail)/float64(sum.Edits),
			sum.Reads, float64(sum.PackAll)/float64(sum.Reads), float64(sum.TailAll)/float64(sum.Reads))
	}
	return nil
}
