package committee

import (
	"fmt"
	"os"
	"testing"
)

func TestDbg(t *testing.T) {
	r := newRun(Config{Seed: 136}.WithDefaults())
	for _, n := range r.nodes {
		n.boot()
	}
	r.w.After(blockTime, r.chain.run)
	r.users()
	r.w.After(1e9, r.fault)
	r.until(faultsFor)
	r.calm()
	r.until(r.w.Now() + endsWithin)
	for i, b := range r.chain.blocks {
		for _, f := range b.facts {
			if fmt.Sprintf("%x", f.Assembled[:3]) == os.Getenv("H") {
				fmt.Println("block", i+1, f.Skipped, f.Intent.Sequence.Counter, string(f.Owner))
				for _, n := range r.nodes {
					w, is := n.book.Whole(f.Assembled)
					_, arch := n.db.wholes[f.Assembled]
					h, fin := n.book.Height()
					fmt.Println(n.name, "whole", is, "archived", arch, h, fin, n.db.final, len(n.book.Missing()))
					if is || arch {
						if !is {
							w = n.db.wholes[f.Assembled]
						}
						for _, in := range w.Attempt.Inputs {
							_, k := n.book.Known(in)
							fmt.Printf(" input %x known %v unspent %v model %v\n", in[:3], k, n.book.Unspent(in), r.chain.head.Unspent(in))
						}
					}
				}
			}
		}
	}
}
