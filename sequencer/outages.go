package sequencer

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/sequencer/ledger"
)

// A node may have ten thousand contracts on a chain that is away. It says so with one line for all of them: once that has
// lasted so long, then every so often, and once when they go on.
const (
	outageAfter = time.Second
	outageEvery = time.Minute
)

// cause is what contracts wait for: a chain, or the store. A contract that is another one on its chain waits for itself.
type cause struct {
	kind     string
	chain    uint64
	contract string
}

const (
	ofChain = "chain"
	ofStore = "store"
	ofOther = "other"
	ofDeep  = "deep"
)

// causeOf returns what the error of a contract is about.
func (n *Node) causeOf(contract string, err error) cause {
	p := n.places[contract]
	switch {
	case p == nil || !errors.Is(err, errAway):
		return cause{kind: ofStore}
	case errors.Is(err, ledger.ErrOther):
		return cause{kind: ofOther, contract: contract}
	case errors.Is(err, ledger.ErrDeep):
		return cause{kind: ofDeep, chain: p.set.Declared.Chain}
	}
	return cause{kind: ofChain, chain: p.set.Declared.Chain}
}

// Outages returns how often contracts had to wait since the node was made: "chain" for one that is away, "deep" for one that
// went back below a final block, "other" for a contract that is another one on its chain, "store" for the database. An outage
// is counted once for all contracts that wait for the same.
func (n *Node) Outages() map[string]uint64 {
	n.outages.mu.Lock()
	defer n.outages.mu.Unlock()
	return maps.Clone(n.outages.times)
}

// outages are what contracts wait for now.
type outages struct {
	mu    sync.Mutex
	all   map[cause]*outage
	times map[string]uint64 // that one has begun, by kind
}

func newOutages() outages {
	return outages{all: map[cause]*outage{}, times: map[string]uint64{ofChain: 0, ofStore: 0, ofOther: 0, ofDeep: 0}}
}

type outage struct {
	waiting map[string]int // the contracts, with how many of their tasks wait
	most    int            // contracts at once
	example string         // one of them
	what    string         // that one could not do
	err     error          // why
	began   time.Duration
	said    time.Duration // 0: not yet
}

// begins notes that a task of a contract has to wait. It did so for the cause before, unless that is nil.
func (o *outages) begins(now time.Duration, before *cause, of cause, what, contract string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	one := o.all[of]
	if one == nil {
		one = &outage{waiting: map[string]int{}, began: now}
		o.all[of] = one
		o.times[of.kind]++
	}
	if one.what, one.example, one.err = what, contract, err; before == nil {
		one.waiting[contract]++
		one.most = max(one.most, len(one.waiting))
	}
}

// ends takes that back. It returns the outage if it was the last one, and was told.
func (o *outages) ends(of cause, contract string) *outage {
	o.mu.Lock()
	defer o.mu.Unlock()
	one := o.all[of]
	if one.waiting[contract]--; one.waiting[contract] == 0 {
		delete(one.waiting, contract)
	}
	if len(one.waiting) > 0 {
		return nil
	}
	if delete(o.all, of); one.said == 0 {
		return nil
	}
	return one
}

// errNoMore ends what is insisted on: it is not needed any more.
var errNoMore = errors.New("it is not needed any more")

// insist does something until it succeeds or the node stops, more and more rarely. ErrOver stops the node.
func (n *Node) insist(what, contract string, do func(context.Context) error) {
	n.insistOn(what, contract, func(ctx context.Context, _ func()) error { return do(ctx) })
}

// insistOn is insist for what takes long: it says when it goes on again.
func (n *Node) insistOn(what, contract string, do func(ctx context.Context, well func()) error) {
	var waits *cause
	over := func(well bool) {
		if waits == nil {
			return
		}
		of := *waits
		waits = nil
		if one := n.outages.ends(of, contract); one != nil && well {
			n.goOn(of, one)
		}
	}
	for wait := 100 * time.Millisecond; n.ctx.Err() == nil; wait = min(2*wait, 10*time.Second) {
		err := do(n.ctx, func() { over(true) })
		if errors.Is(err, errNoMore) {
			over(false)
			return
		}
		if err == nil || n.ctx.Err() != nil {
			break
		}
		if errors.Is(err, ErrOver) {
			n.end(err)
			break
		}
		of := n.causeOf(contract, err)
		if waits != nil && *waits != of {
			over(true)
		}
		n.outages.begins(n.now(), waits, of, what, contract, err)
		waits = &of
		n.cfg.Log.Debug(what, "contract", contract, "error", err)
		_ = pause.For(n.ctx, wait)
	}
	over(n.ctx.Err() == nil)
}

// complain says what contracts wait for.
func (n *Node) complain() {
	now := n.now()
	n.outages.mu.Lock()
	defer n.outages.mu.Unlock()
	for of, one := range n.outages.all {
		if now-one.began < outageAfter || one.said > 0 && now-one.said < outageEvery {
			continue
		}
		one.said = now
		switch of.kind {
		case ofOther:
			n.cfg.Log.Error("a contract on its chain is another one, and this node takes no part in it", "contract", of.contract, "error", one.err)
		case ofDeep:
			n.cfg.Log.Error("A CHAIN WENT BACK BELOW A FINAL BLOCK, or its endpoint is left behind: its contracts wait until it has what was final", "chain", of.chain, "contracts", len(one.waiting), "contract", one.example, "error", one.err)
		case ofChain:
			n.cfg.Log.Error("the contracts of a chain wait for it", "chain", of.chain, "contracts", len(one.waiting), "contract", one.example, "what", one.what, "error", one.err)
		default:
			n.cfg.Log.Error("contracts wait for the store", "what", one.what, "contract", one.example, "error", one.err)
		}
	}
}

// goOn says that contracts wait no more.
func (n *Node) goOn(of cause, one *outage) {
	after := n.now() - one.began
	switch of.kind {
	case ofOther:
		n.cfg.Log.Info("a contract on its chain is the declared one now", "contract", of.contract, "after", after)
	case ofChain, ofDeep:
		n.cfg.Log.Info("a chain is back, and its contracts go on", "chain", of.chain, "contracts", one.most, "after", after)
	default:
		n.cfg.Log.Info("the store is back, and contracts go on", "after", after)
	}
}
