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
	only := flag.String("only", "", "print one table: locomo, realmem, next or stability")
	misses := flag.Bool("misses", false, "list the LoCoMo evidence that is not found at 4,000 tokens, on stderr")
	flag.Parse()
	b := bench{dir: corpus.Dir(), every: *every}
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
