package spray

import (
	"cmp"
	"errors"
	"fmt"
)

// Config configures a [Machine].
type Config struct {
	Self        Peer   // this node, as others call and reach it
	Incarnation uint64 // random, for each start; not 0
	Seed        uint64 // of the machine's choices; random, for each start
	Contacts    []Peer // to join by; without any the node waits for others

	// Broken is a rule to leave out, for proofs that something falls without it. It is for tests alone.
	Broken Rule

	every int // ticks between two exchanges; tests have others
	floor int // neighbours, at least; fewer are filled from the cache
}

// mostCache is how many peers are remembered.
const mostCache = 16

func (c Config) withDefaults() Config {
	c.every = cmp.Or(c.every, 10)
	c.floor = cmp.Or(c.floor, 5)
	return c
}

// Validate returns an error that lists every fault.
func (c Config) Validate() error {
	var faults []error
	fault := func(is bool, text string, args ...any) {
		if is {
			faults = append(faults, fmt.Errorf("spray: "+text, args...))
		}
	}
	fault(!c.Self.sound(), "the node %.80q has no sound name of 1 to %d bytes, or its address is longer than %d", c.Self.Name, MostName, MostAddress)
	fault(c.Incarnation == 0, "the incarnation is zero: draw one at each start, or a node that restarts keeps arcs of its past")
	for i, p := range c.Contacts {
		fault(!p.sound(), "contact %d, %.80q, has no sound name and address", i+1, p.Name)
		fault(p.Name == c.Self.Name, "contact %d is the node itself", i+1)
	}
	return errors.Join(faults...)
}

// Rule is one that a proof leaves out.
type Rule string

// The rules. Each is named as the simulator's flag names it.
const (
	PeerCache   Rule = "peer-cache"   // no peer is remembered, and there is no floor of neighbours
	SameAnswer  Rule = "same-answer"  // an exchange that comes twice is carried out twice
	ArcsReturn  Rule = "arcs-return"  // what was given in an exchange without an answer is not taken back
	AskTheLost  Rule = "ask-the-lost" // a peer that went away is never tried again
	Incarnation Rule = "incarnation"  // a peer that has restarted keeps the arcs of its past
	Refill      Rule = "refill"       // arcs that restarts have taken along are not replaced
	TurnAway    Rule = "turn-away"    // a peer for which there is no room hears of no others
)

// Rules returns the rules that can be left out.
func Rules() []Rule {
	return []Rule{PeerCache, SameAnswer, ArcsReturn, AskTheLost, Incarnation, Refill, TurnAway}
}
