// Command bench prints the tables of `make bench-quality`: see package quality.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"

	"ctxfs/internal/context/token"
	"ctxfs/internal/quality/corpus"
)

func main() {
	log.SetFlags(0)
	every := flag.Int("every", 4, "measure every Nth coding session in the tables that replay them; 1 is all")
	from := flag.Int("from", 0, "start with this session, from 0: with -every 2, 0 is the half that packs are tuned on and 1 the half held out")
	only := flag.String("only", "", "print one table: locomo, realmem, next or stability")
	misses := flag.Bool("misses", false, "list what is not found, on stderr: LoCoMo evidence at 4,000 tokens, and edits whose ground only a tail has")
	flag.Parse()
	b := bench{dir: corpus.Dir(), every: max(*every, 1), from: max(*from, 0)}
	if b.dir == "" {
		fmt.Println("SKIP: ../shared/data is not here")
		return
	}
	if *misses {
		b.misses = os.Stderr
	}
	var err error
	if b.tok, err = token.New(token.Default); err != nil {
		log.Fatal(err)
	}
	for _, table := range []struct {
		name  string
		print func() error
	}{{"locomo", b.locomo}, {"realmem", b.realmem}, {"next", b.next}, {"stability", b.stability}} {
		if *only != "" && *only != table.name {
			continue
		}
		if err := table.print(); err != nil {
			log.Fatal(err)
		}
		fmt.Println()
	}
}
