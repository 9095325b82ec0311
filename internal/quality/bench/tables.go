package main

import (
	"fmt"
	"io"

	"ctxfs/internal/context/recall"
	"ctxfs/internal/context/token"
	"ctxfs/internal/quality"
	"ctxfs/internal/quality/corpus"
)

type bench struct {
	tok    *token.Encoding
	dir    string
	every  int // sessions from the from-th on, every so many
	from   int
	misses io.Writer // nil: do not list them
}

// locomo prints table (a): evidence recall, with what each technique adds.
func (b *bench) locomo() error {
	convs, err := corpus.LoCoMo(b.dir)
	if err != nil {
		return err
	}
	fmt.Println("(a) LoCoMo: share of questions with any / all of their evidence in pack.md")
	fmt.Printf("%-34s %15s %15s %15s\n", "ranking", "1,000", "2,000", "4,000")
	none := recall.Dates | recall.Neighbours | recall.Episodes
	for _, row := range []struct {
		name    string
		without recall.Technique
	}{{"BM25, stems, identifiers", none}, {"+ neighbours", none &^ recall.Neighbours}, {"+ neighbours, episodes", recall.Dates},
		{"all (+ dates)", 0}, {"all but neighbours", recall.Neighbours}, {"all but episodes", recall.Episodes}} {
		fmt.Printf("%-34s", row.name)
		for _, budget := range []int{1000, 2000, 4000} {
			var sum quality.Recall
			for _, c := range convs {
				var misses io.Writer
				if budget == 4000 && row.without == 0 {
					misses = b.misses
				}
				r, err := quality.Evidence(b.tok, c, budget, row.without, misses)
				if err != nil {
					return err
				}
				sum.Add(r)
			}
			fmt.Printf("   %s", short(sum))
		}
		fmt.Println()
	}
	return nil
}

func short(r quality.Recall) string {
	n := float64(max(r.Of, 1))
	return fmt.Sprintf("%.3f / %.3f", float64(r.Any)/n, float64(r.All)/n)
}

// realmem prints table (b): session recall, the query being the user's own message.
func (b *bench) realmem() error {
	list, err := corpus.RealMem(b.dir)
	if err != nil {
		return err
	}
	fmt.Println("(b) RealMem: share of answers with any / all of the sessions that they draw on in the pack")
	for _, budget := range []int{2000, 4000, 8000} {
		var sum quality.Recall
		for _, h := range list {
			r, err := quality.Sessions(b.tok, h, budget)
			if err != nil {
				return err
			}
			sum.Add(r)
		}
		fmt.Printf("%8d tokens   %s of %d\n", budget, short(sum), sum.Of)
	}
	return nil
}

// next prints table (c): what an edit stands on, in the pack of the turn before and in a plain tail.
func (b *bench) next() error {
	list, err := corpus.Coding(b.dir)
	if err != nil {
		return err
	}
	fmt.Println("(c) coding sessions: the edited lines, and the file's latest content whole, in the pack of the turn before / in a plain tail")
	for _, budget := range []int{8000, 32000} {
		var sum quality.NextStep
		for i := b.from; i < len(list); i += b.every {
			r, err := quality.Steps(b.tok, list[i], budget, b.misses)
			if err != nil {
				return err
			}
			sum.Add(r)
		}
		fmt.Printf("%8d tokens   lines %.3f / %.3f of %d   content %.3f / %.3f of %d\n", budget, part(sum.Pack, sum.Edits), part(sum.Tail, sum.Edits), sum.Edits,
			part(sum.PackAll, sum.Reads), part(sum.TailAll, sum.Reads), sum.Reads)
	}
	return nil
}

func part(n, of int) float64 { return float64(n) / float64(max(of, 1)) }

// stability prints how much of a pack the next append leaves as it was.
func (b *bench) stability() error {
	list, err := corpus.Coding(b.dir)
	if err != nil {
		return err
	}
	var sum quality.Stability
	for i := b.from; i < len(list); i += b.every {
		r, err := quality.Replay(b.tok, list[i], 32000)
		if err != nil {
			return err
		}
		sum.Add(r)
	}
	fmt.Println("(5) stability at 32,000 tokens, log replayed line by line: mean share of a pack that is an unchanged prefix of the next")
	fmt.Printf("   all packs %.3f of %d   packs of logs over the budget %.3f of %d   mean use of the budget there %.3f\n",
		sum.Share/float64(max(sum.Packs, 1)), sum.Packs, sum.Over/float64(max(sum.OverOf, 1)), sum.OverOf, sum.Used/float64(max(sum.OverOf, 1)))
	return nil
}
