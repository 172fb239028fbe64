package committee

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

func TestDbg(t *testing.T) {
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	r := newRun(Config{Seed: seed}.WithDefaults())
	for _, n := range r.nodes {
		n.boot()
	}
	r.w.After(blockTime, r.chain.run)
	r.users()
	r.w.After(1e9, r.fault)
	r.until(faultsFor)
	r.calm()
	r.until(r.w.Now() + endsWithin)
	for _, n := range r.nodes {
		h, f := n.book.Height()
		fmt.Println(n.name, h, f, len(n.book.Missing()))
		for _, p := range []string{"red", "green", "blue"} {
			sum := uint64(0)
			for s := range n.book.Labelled(p, 1) {
				sum += valueOf(s.Data)
				if !r.chain.head.Unspent(s.ID) {
					fmt.Printf("  %x is not there\n", s.ID[:3])
				}
			}
			fmt.Println("  ", p, sum)
		}
	}
	for _, k := range r.order {
		w := r.wishes[k]
		if w.result == nil {
			for _, l := range w.node.db.intents {
				if l.Key == k {
					fmt.Println(k, w.accepted, w.lost, string(l.Payload))
				}
			}
		}
	}
}
