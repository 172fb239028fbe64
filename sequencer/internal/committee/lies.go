package committee

import (
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// madeUp is a handover of made-up attempts, one for each state that is there.
func madeUp(right bool) func(*node, ledger.Account, wire.Body) wire.Body {
	return func(n *node, _ ledger.Account, body wire.Body) wire.Body {
		if _, is := body.(wire.Handover); !is {
			return body
		}
		var h wire.Handover
		for _, id := range n.r.chain.head.States() {
			h.Entries = append(h.Entries, n.made(id, right))
		}
		return h
	}
}

// lies are those of each kind of message.
var lies = []lie{
	{name: "handover", what: "it hands over made-up attempts, one for each state", says: madeUp(false)},
	{name: "handover-withheld", gains: keepsFor, what: "it hands over what is granted and endorsed, one attempt for each state, and never sends it", says: madeUp(true)},
	{name: "handover-of-others", what: "it hands over what others have dispatched", says: func(n *node, _ ledger.Account, body wire.Body) wire.Body {
		h, is := body.(wire.Handover)
		for _, e := range n.r.chain.public {
			if w, known := n.Book.Whole(e.Grant.Assembled); known && is {
				h.Entries = append(h.Entries, wire.Dispatch{Whole: w, Grant: e.Grant, Endorsements: e.Endorsements})
			}
		}
		if is {
			return h
		}
		return body
	}},
	{name: "ask-handover", what: "it asks the coordinator for a handover, a hundred times a second, for each range that is near", acts: func(n *node) {
		own := n.r.committee.RangeOf(n.r.chain.final.Number())
		for i := range 10 {
			n.later(time.Duration(i)*10*time.Millisecond, func() {
				n.tells(func(to *node) wire.Body {
					if to.name != n.r.committee.Order(own)[0] {
						return nil
					}
					return wire.AskHandover{Range: own - min(own, 1) + ranking.Range(i%4)}
				})
			})
		}
	}},
	{name: "beat", what: "it says that it coordinates", acts: func(n *node) {
		for _, to := range n.r.others(n) {
			n.beat(coordinator.Pulse{To: to.account, Pulse: wire.Pulse{Contract: n.r.contract.Address, Works: true, Digest: wire.Digest{Count: 1}}})
		}
	}},
	{name: "accepted", gains: idlesFor, what: "it accepts work, says that it has all of it, and does nothing", says: func(_ *node, _ ledger.Account, body wire.Body) wire.Body {
		switch body.(type) {
		case wire.Assemble, wire.Endorse, wire.AskGrant:
			return nil
		}
		return body
	}},
	{name: "assemble", gains: idlesFor, what: "it says that all states are in use", says: func(n *node, _ ledger.Account, body wire.Body) wire.Body {
		if a, is := body.(wire.Assemble); is {
			a.Context.Locked = n.r.chain.head.States()
			return a
		}
		return body
	}},
	{name: "created", gains: idlesFor, what: "it says that there are states which nobody creates", says: func(n *node, _ ledger.Account, body wire.Body) wire.Body {
		if a, is := body.(wire.Assemble); is {
			a.Context.Locked = n.r.chain.head.States()
			for i, purse := range []string{"red 1000", "green 1000", "blue 1000"} {
				a.Context.Created = append(a.Context.Created, domain.State{ID: ledger.StateID{9, byte(i)}, Creator: ledger.Intent{Owner: n.account}, Secret: domain.Secret{Data: []byte(purse)}})
			}
			return a
		}
		return body
	}},
	{name: "returned", gains: idlesFor, what: "it gives back what it gets, at once", says: func(n *node, to ledger.Account, body wire.Body) wire.Body {
		if a, is := body.(wire.Assemble); is {
			n.r.carry(n, to, wire.Message{Contract: n.r.contract.Address, Body: wire.Returned{Items: a.Items, Why: wire.Moved}})
			return nil
		}
		return body
	}},
	{name: "endorsed", what: "it refuses to endorse", says: verdicts(func(v *wire.Verdict) { v.Why, v.Signature = wire.Refused, nil })},
	{name: "endorsed-conflict", what: "it lacks the states of all that it is asked to endorse", says: verdicts(func(v *wire.Verdict) { v.Why, v.Signature = wire.Conflict, nil })},
	{name: "endorsed-wrongly", what: "its endorsements are signed wrongly", says: verdicts(func(v *wire.Verdict) { v.Signature = []byte("wrong") })},
	{name: "endorse", what: "it asks members to endorse nonsense", acts: seldom(func(n *node) {
		n.tells(func(*node) wire.Body {
			e := wire.Endorse{Range: ranking.Range(1 << 40)}
			for _, id := range n.r.chain.head.States() {
				e.Attempts = append(e.Attempts, n.made(id, false).Whole)
			}
			return e
		})
	})},
	{name: "delegate", what: "it delegates intents for a later range, ten times a second, and assembles none", acts: func(n *node) {
		n.tells(func(*node) wire.Body {
			n.requests++
			own := n.r.committee.RangeOf(n.r.chain.final.Number())
			return wire.Delegate{Delegation: ledger.Hash{byte(n.requests), 1}, Range: own + 2, Intents: []wire.Offer{{Sequence: ledger.Sequence{Lineage: 8, Counter: n.requests}}}}
		})
	}, says: func(_ *node, _ ledger.Account, body wire.Body) wire.Body {
		if _, is := body.(wire.Assembled); is {
			return nil
		}
		return body
	}},
	{name: "granted", what: "its own intents spend all states, and it never grants", acts: seldom(func(n *node) {
		own := n.r.committee.RangeOf(n.r.chain.final.Number())
		n.tells(func(*node) wire.Body {
			d := wire.Delegate{Delegation: ledger.Hash{1: byte(n.requests), 2: 2}, Range: own}
			for range n.r.chain.head.States() {
				n.requests++
				d.Intents = append(d.Intents, wire.Offer{Sequence: ledger.Sequence{Lineage: 8, Counter: n.requests}, Payload: domain.PayloadHash(ofAll)})
			}
			return d
		})
	}), says: func(n *node, _ ledger.Account, body wire.Body) wire.Body {
		a, is := body.(wire.Assembled)
		for i, id := range n.r.chain.head.States() {
			if is && i < len(a.Results) {
				w := n.made(id, false).Whole
				w.Attempt.Sequence, w.Attempt.Payload, w.Payload = a.Results[i].Sequence, domain.PayloadHash(ofAll), ofAll
				a.Results[i] = wire.Result{Sequence: w.Attempt.Sequence, Whole: w}
			}
		}
		if _, grants := body.(wire.Granted); grants {
			return nil
		} else if is {
			return a
		}
		return body
	}},
	{name: "dispatched", gains: 3 * liesRange * blockTime / 2, what: "it says that it has dispatched what it was granted, and sends nothing", acts: func(n *node) { n.r.chain.frozen = n.account }},
	{name: "attempts", what: "it has no contents for anybody, and offers its own", says: func(_ *node, _ ledger.Account, body wire.Body) wire.Body {
		if _, is := body.(wire.Attempts); is {
			return wire.Attempts{}
		}
		return body
	}, acts: seldom(func(n *node) {
		n.tells(func(*node) wire.Body {
			var a wire.Attempts
			for _, id := range n.r.chain.head.States() {
				a.Attempts = append(a.Attempts, n.made(id, false).Whole)
			}
			return a
		})
	})},
	{name: "rejected", what: "it rejects all that it is asked", says: func(_ *node, _ ledger.Account, body wire.Body) wire.Body {
		if isAnswer(body) {
			return wire.Rejected{Why: wire.Busy}
		}
		return body
	}},
	{name: "silence", what: "it says nothing at all", says: func(*node, ledger.Account, wire.Body) wire.Body { return nil }},
}

// seldom does what costs much once in a second.
func seldom(acts func(*node)) func(*node) {
	return func(n *node) {
		if n.now()/liesEvery%10 == 0 {
			acts(n)
		}
	}
}

// ofAll is the payload of a liar's intents.
var ofAll = []byte("lie move all")

// verdicts changes what a member says of attempts.
func verdicts(change func(*wire.Verdict)) func(*node, ledger.Account, wire.Body) wire.Body {
	return func(_ *node, _ ledger.Account, body wire.Body) wire.Body {
		e, is := body.(wire.Endorsed)
		if !is {
			return body
		}
		e.Verdicts = slices.Clone(e.Verdicts)
		for i := range e.Verdicts {
			change(&e.Verdicts[i])
		}
		return e
	}
}
