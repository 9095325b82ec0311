// Command bench prints the tables of `make bench-dedup`: what real sessions take in the chunk store, beside zstd,
// restic and borg, and how fast they go in, come back, and are read at random.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"

	"ctxfs/internal/quality/corpus"
)

func main() {
	log.SetFlags(0)
	others := flag.Bool("others", true, "measure zstd, restic and borg too")
	random := flag.Int64("random", 1<<30, "size in bytes of the log that is read at random; 0: none")
	cache := flag.Int("cache", 0, "bytes of frames that random reads keep decompressed; 0: the default")
	flag.Parse()
	data := corpus.Dir()
	if data == "" {
		fmt.Println("SKIP: ../shared/data is not here")
		return
	}
	if err := run(data, *others, *random, *cache); err != nil {
		log.Fatal(err)
	}
}

func run(data string, others bool, random int64, cache int) error {
	work, err := os.MkdirTemp("", "ctxfs-bench-dedup-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }() // temporary
	sets, err := load(data, work)
	if err != nil {
		return err
	}
	fmt.Println("CPU seconds count for ingest: MB/s is of one core. Restore is by the clock. MB are 1,000,000 bytes.")
	for _, set := range sets {
		if err := set.table(work, others); err != nil {
			return err
		}
	}
	if err := growth(sets, work); err != nil {
		return err
	}
	if random > 0 {
		return randomReads(sets, work, random, cache)
	}
	return nil
}
