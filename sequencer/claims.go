package sequencer

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/transport"
)

// differences are the members that have another declaration of a contract than this node, or none. Nodes compare the
// hash of all that is agreed on: what one member never endorses or another skips has a reason that shows here. Nobody
// is refused for it, since the ledger has one declaration and takes nothing else.
type differences struct {
	mu  sync.Mutex
	all map[difference]bool
}

type difference struct {
	contract string
	member   ledger.Account
}

func (d *differences) has(contract string, member ledger.Account) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all[difference{contract, member}]
}

// set notes whether there is a difference, and reports whether that is new.
func (d *differences) set(at difference, is bool) (changed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all[at] == is {
		return false
	}
	if !is {
		delete(d.all, at)
		return true
	}
	if d.all == nil {
		d.all = map[difference]bool{}
	}
	d.all[at] = true
	return true
}

// ticksToCompare is how many ticks pass between two comparisons: five seconds, unless the ticks are others.
const ticksToCompare = 100

// claim tells the peers what this node has declared, if the transport can, and compares that with theirs until the node
// ends.
func (n *Node) claim(claimer transport.Claimer) {
	own := transport.Claims{}
	for i := range n.cfg.Contracts {
		k := &n.cfg.Contracts[i]
		hash := k.Scheme.Declared(k.Declared)
		own[k.Declared.Address] = hash[:]
	}
	if err := claimer.Claim(Subject, own); err != nil {
		n.cfg.Log.Warn("the declarations are not compared with those of the peers", "error", err)
		return
	}
	again := time.NewTicker(ticksToCompare * n.cfg.Tick)
	defer again.Stop()
	for {
		n.compare(claimer, own)
		select {
		case <-again.C:
		case <-n.ctx.Done():
			return
		}
	}
}

func (n *Node) compare(claimer transport.Claimer, own transport.Claims) {
	for _, member := range sortedAccounts(n.cfg.Peers) {
		theirs, heard := claimer.Claimed(n.cfg.Peers[member], Subject)
		if !heard || len(theirs) == 0 {
			continue // it is not there, or its node has not begun
		}
		for i := range n.cfg.Contracts {
			d := &n.cfg.Contracts[i].Declared
			if !slices.Contains(d.Members, member) {
				continue
			}
			is := !bytes.Equal(theirs[d.Address], own[d.Address])
			if !n.differ.set(difference{d.Address, member}, is) {
				continue
			}
			say := n.cfg.Log.Info
			text := "a member has the same declaration of the contract now"
			if is {
				say, text = n.cfg.Log.Error, "A MEMBER HAS ANOTHER DECLARATION of the contract, or none: compare members, committee, endorsements, range, depth, life, policy and domain"
			}
			say(text, "contract", d.Address, "peer", n.cfg.Peers[member])
		}
	}
}
