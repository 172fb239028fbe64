package auditor

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
)

// Judge judges a record without changing it.
func Judge(r Record) Verdict {
	j := &judge{
		Record: r, landed: map[intent]Entry{}, ended: map[intent]int{}, told: map[intent]Told{},
		created: map[string]string{}, spent: map[string]bool{}, forgotten: map[intent]Request{}, payloads: map[intent]string{}, excused: map[[2]int]bool{},
	}
	j.verdict = Verdict{
		Kills: r.Kills, Pauses: r.Pauses, Partitions: r.Partitions, Dispatch: evidence.SpreadOf(r.Dispatches), Faults: r.Faults,
		Restores: len(r.Restores), Seed: r.Seed, Violations: []string{},
	}
	for _, t := range r.Told {
		j.told[intent{t.Owner, t.ID}] = t
	}
	j.code()
	for _, e := range r.Ledger.Entries {
		j.play(e)
	}
	j.states()
	for _, q := range r.Requests {
		j.request(q)
	}
	for _, t := range r.Told {
		j.tell(t)
	}
	j.strangers()
	j.money()
	j.stalls()
	if j.Stuck != "" {
		j.fault("%s", j.Stuck)
	}
	j.attack()
	for _, e := range r.Ended {
		j.ending(e)
	}
	return j.verdict
}

// ending judges what became of a node whose certificate has ended.
func (j *judge) ending(e Ended) {
	if len(e.Standing) > 0 {
		j.fault("a minute after the end of the certificate of %s there were still connections: %s", e.Node, strings.Join(e.Standing, ", "))
	}
	if !e.Refused || !e.Said {
		j.fault("the certificate of %s has ended; that it is refused was said by others: %t, that it has ended by its node: %t", e.Node, e.Refused, e.Said)
	}
	if e.Away > 0 {
		j.fault("the certificate of %s was renewed, and %d ways to and from it had no connection later", e.Node, e.Away)
	}
}

type intent struct{ owner, sequence string }

type judge struct {
	Record

	landed  map[intent]Entry  // by the last entry that landed
	ended   map[intent]int    // how often the ledger has ended it
	told    map[intent]Told   // by their nodes
	created map[string]string // commitments of all states, by state
	spent   map[string]bool

	forgotten map[intent]Request // that were acknowledged, and that a restore has taken from their nodes
	payloads  map[intent]string  // of what has landed
	excused   map[[2]int]bool    // restores and requests, by their places: each pair explains one intent that landed unheard

	verdict Verdict
}

func (j *judge) fault(format string, args ...any) {
	j.verdict.Violations = append(j.verdict.Violations, fmt.Sprintf(format, args...))
}

// name returns an intent as an operator knows it.
func (j *judge) name(in intent) string {
	owner := in.owner
	if name := j.Contract.Names[in.owner]; name != "" {
		owner = name
	}
	return owner + " " + in.sequence
}

// CreationSize is how many bytes of a creation are the compiled contract; its arguments follow.
const CreationSize = 9774

// creationHash is the SHA-256 of those bytes: of sequencer/evm/solidity/Ledger.sol as it was audited.
const creationHash = "5ec76aac09dc94ae8fdb49558c461cb9f243fa92785f6a1797e6bbf3b354bfd8"

// code checks that the contract is the audited one, with the members that have agreed.
func (j *judge) code() {
	c := j.Ledger.Created
	if got := sha256.Sum256(c.Code); hex.EncodeToString(got[:]) != creationHash {
		j.fault("the contract on the chain was not created by the audited code, so what has landed need not have been granted")
	}
	if !slices.Equal(c.Members, j.Contract.Members) || c.Needed != j.Contract.Needed {
		j.fault("the contract on the chain has the members %v, of which %d endorse, and was declared with %v, of which %d do",
			c.Members, c.Needed, j.Contract.Members, j.Contract.Needed)
	}
}

// play carries an entry out again, by the rules of a ledger alone.
func (j *judge) play(e Entry) {
	in := intent{e.Owner, e.Sequence}
	j.effort(e)
	if e.Event == Skipped {
		return
	}
	if j.ended[in]++; j.ended[in] == 2 {
		j.verdict.Twice++
		j.fault("%s was ended by the ledger twice, at last in block %d", j.name(in), e.Block)
	}
	if e.Event != Landed {
		return
	}
	if _, before := j.landed[in]; !before {
		j.verdict.Landed++
	}
	j.landed[in] = e
	if !slices.Contains(j.Contract.Members, e.Owner) || !slices.Contains(j.Contract.Members, e.Sender) {
		j.fault("%s has landed in block %d, and its owner or its sender %s is no member", j.name(in), e.Block, e.Sender)
	}
	for _, s := range slices.Concat(e.Inputs, e.Reads) {
		if _, known := j.created[s]; !known || j.spent[s] {
			j.verdict.Twice++
			j.fault("%s has landed in block %d and uses the state %s, which is spent or was never there", j.name(in), e.Block, s)
		}
	}
	for _, s := range e.Inputs {
		j.spent[s] = true
	}
	for _, o := range e.Outputs {
		if _, before := j.created[o.State]; before {
			j.verdict.Twice++
			j.fault("%s has landed in block %d and creates the state %s again", j.name(in), e.Block, o.State)
		}
		j.created[o.State] = o.Commitment
	}
}

// effort counts what was sent for nothing. What is sent by others than the nodes is none of theirs.
func (j *judge) effort(e Entry) {
	if e.Event == Cancelled || !slices.Contains(j.Contract.Members, e.Sender) {
		return
	}
	calm := !slices.ContainsFunc(j.Troubles, func(t Trouble) bool { return t.From <= e.Block && e.Block <= t.To })
	switch {
	case e.Event == Skipped:
		j.verdict.Skipped++
		if calm {
			j.verdict.Calm.Skipped++
		}
	case calm:
		j.verdict.Calm.Landed++
	}
}

// states compares the states that are unspent after the play with the contract's own word.
func (j *judge) states() {
	for _, s := range sorted(j.created) {
		if j.Ledger.Unspent[s] == j.spent[s] {
			j.fault("the state %s is spent by the entries: %t, and unspent by the contract: %t", s, j.spent[s], j.Ledger.Unspent[s])
		}
	}
	for _, s := range sorted(j.Ledger.Unspent) {
		if _, known := j.created[s]; j.Ledger.Unspent[s] && !known {
			j.fault("the state %s is unspent, and nothing that landed has created it", s)
		}
	}
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
