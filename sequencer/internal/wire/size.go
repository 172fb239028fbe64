package wire

import (
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/transport"
)

// What a field takes at most: a tag, then a number or a length and that many bytes.
const (
	numberSize   = 11
	lengthSize   = 5
	sequenceSize = lengthSize + 16
	hashSize     = lengthSize + 32
	whySize      = 3
	stepSize     = lengthSize + sequenceSize + hashSize
	headSize     = 100 + lengthSize // all but the address, and the body's own tag
)

// Size returns how many bytes a message has at most. It is cheap: a machine splits its batches by it.
func Size(m Message) int { return headSize + lengthSize + len(m.Contract) + bodySize(m.Body) }

// Fits reports whether a message can be sent, as far as its size goes.
func Fits(m Message) bool { return Left(m) >= 0 }

// Left returns how many more bytes a message can have, below 0 if it cannot be sent.
func Left(m Message) int { return transport.MostBody - Size(m) }

// Check returns which limit of this package an attempt breaks, so that it can never be sent. It is nil if it can be.
func (w Whole) Check() error {
	var c checker
	c.attempt(w)
	return c.err
}

func namesSize[T ~[32]byte](all []T) int { return lengthSize + 32*len(all) }

func secretSize(s domain.Secret) int { return lengthSize + sequenceSize + lengthSize + len(s.Data) }

func accountSize(a ledger.Account) int { return lengthSize + len(a) }

// StateSize returns how many bytes of a message a state takes at most.
func StateSize(s domain.State) int {
	return hashSize + accountSize(s.Creator.Owner) + sequenceSize + hashSize + secretSize(s.Secret)
}

// Size returns how many bytes of a message the attempt takes at most.
func (w Whole) Size() int {
	a := &w.Attempt
	size := 2*lengthSize + accountSize(a.Owner) + sequenceSize + hashSize + namesSize(a.Inputs) + namesSize(a.Reads) + namesSize(a.Outputs)
	size += lengthSize + len(a.Data) + lengthSize + len(w.Payload)
	for i := range w.Outputs {
		size += secretSize(w.Outputs[i])
	}
	return size
}

// Size returns how many bytes of a message the attempt takes at most.
func (d Dispatch) Size() int {
	size := lengthSize + d.Whole.Size() + grantSize(&d.Grant)
	for _, e := range d.Endorsements {
		size += lengthSize + numberSize + lengthSize + len(e.Signature)
	}
	return size
}

// Size returns how many bytes of a message the result takes at most.
func (r Result) Size() int {
	size := lengthSize + sequenceSize + whySize + numberSize
	if r.Why == Done {
		size += r.Whole.Size()
	}
	return size
}

// Size returns how many bytes of a message the result takes at most.
func (g GrantResult) Size() int {
	return lengthSize + sequenceSize + whySize + grantSize(&g.Grant)
}

func grantSize(g *ledger.Grant) int {
	return lengthSize + 2*hashSize + accountSize(g.Coordinator) + numberSize + lengthSize + len(g.Signature)
}

// Size returns how many bytes of a message the verdict takes at most.
func (v Verdict) Size() int {
	return lengthSize + hashSize + lengthSize + len(v.Signature) + whySize + lengthSize + min(len(v.Text), MostText)
}

// sum adds the sizes of a list's items.
func sum[T any](all []T, size func(T) int) (total int) {
	for i := range all {
		total += size(all[i])
	}
	return total
}

func bodySize(body Body) int {
	switch b := body.(type) {
	case Delegate:
		return hashSize + numberSize + sum(b.Avoid, accountSize) + stepSize*len(b.Intents)
	case Assemble:
		x := &b.Context
		return stepSize*len(b.Items) + namesSize(b.Withheld) + lengthSize + 2*numberSize + namesSize(x.Locked) + namesSize(x.Gone) + sum(x.Created, StateSize)
	case Assembled:
		return sum(b.Results, Result.Size)
	case AskGrant:
		return accountSize(b.By) + (stepSize+hashSize)*len(b.Items)
	case Granted:
		return sum(b.Items, GrantResult.Size)
	case Dispatched:
		size := 0
		for i := range b.Items {
			size += stepSize + lengthSize + len(b.Items[i].Endorsers)
		}
		return size
	case Returned:
		return stepSize*len(b.Items) + whySize + accountSize(b.Better)
	case List:
		return lengthSize + 16*len(b.Sequences)
	case Endorse:
		return numberSize + sum(b.Attempts, Whole.Size) + sum(b.Upstream, Whole.Size)
	case Endorsed:
		return sum(b.Verdicts, Verdict.Size)
	case Handover:
		return sum(b.Entries, Dispatch.Size)
	case AskAttempts:
		return namesSize(b.Assembled)
	case Attempts:
		return sum(b.Attempts, Whole.Size)
	case Rejected:
		return whySize + lengthSize + min(len(b.Text), MostText)
	}
	return numberSize // AskHandover; the others have nothing
}
