package standin

import (
	"context"
	"fmt"
	"time"

	"github.com/conchhq/conch/sequencer/ledger"
)

// Strike is what became of a coordinator's death.
type Strike struct {
	Took  time.Duration // until another has dispatched something
	Pause time.Duration // the longest one between two dispatches before
}

// before is how many attempts a coordinator has dispatched when it is stopped.
const before = 300

// Struck runs three nodes with the defaults, each of which may coordinate, and users at each. When one has coordinated for
// a while it is stopped where it stands.
func Struck(ctx context.Context, s Scheme, users int) (strike Strike, err error) {
	names := []string{"node", "east", "west"}
	site := Open(ctx, Config{Scheme: s, Members: names, Committee: names, Needed: 2, Block: blockTime})
	defer site.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	nodes := map[ledger.Account]*Node{}
	all := make([]*Node, 0, len(names))
	for _, name := range names {
		n, err := site.Node(name, Options{})
		if err != nil {
			return strike, err
		}
		nodes[site.Scheme.Key(name).Account] = n
		all = append(all, n)
	}
	purses := Purses(users*len(names), false)
	if err := site.Issue(ctx, all[0], purses); err != nil {
		return strike, err
	}
	first := site.Ledger.dispatched()
	for i, n := range all { // those of the node that is stopped end with it
		site.running.Go(func() {
			_, _, _ = (&Users{Node: n, Name: "user", Purses: purses[i*users : (i+1)*users]}).Run(ctx, time.Minute)
		})
	}
	var victim ledger.Account
	site.Ledger.pause()
	err = site.Ledger.until(ctx, "somebody coordinates", func(d dispatches) bool {
		victim = d.by
		return d.entries > first+before
	})
	if err != nil {
		return strike, err
	}
	strike.Pause = site.Ledger.pause()
	at := time.Now()
	nodes[victim].Stop()
	err = site.Ledger.until(ctx, "another coordinates", func(d dispatches) bool {
		strike.Took = d.at.Sub(at)
		return d.by != victim
	})
	stop()
	if err == nil && strike.Took < 0 {
		err = fmt.Errorf("another had dispatched something before")
	}
	return strike, err
}
