package committee

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// The invariants. The numbers are those of the requirements.
const (
	OnceLanded       = "I1 landed once"
	EveryIntentEnds  = "I2 every intent ends"
	ToldTheTruth     = "I2 told the truth"
	NoDoubleSpend    = "I3 no double spend"
	SubmitOrder      = "I4 submit order"
	GrantStored      = "I5 grant stored first"
	InheritedFirst   = "I6 inherited first"
	OneDispatches    = "I8 one dispatches"
	IdleIsSilent     = "I9 idle is silent"
	OneAnswer        = "I10 one answer"
	OwnAttempt       = "I5 own attempt"
	NothingSkipped   = "nothing is skipped"
	NothingOnTheDead = "nothing is built on the dead"
	SkipsEnd         = "skips end"
	NoStarvation     = "starvation"
	TableKept        = "the table is kept"
	BooksKept        = "the books are kept"
)

// wish is what a user has asked for, and what became of it.
type wish struct {
	key      string
	node     *node
	text     string
	payload  ledger.Hash
	amount   uint64
	exempt   bool // it may take any time
	given    bool // its user has cancelled it
	asked    time.Duration
	accepted time.Duration // 0: not yet
	lost     bool          // its row was lost with a database
	result   *ledger.Result
	ended    time.Duration
}

// judgeLanded looks at what a block has taken. I1: the ledger takes each user's intent once.
func (r *run) judgeLanded(f ledger.Fact, number uint64) {
	all := r.chain.facts[f.Payload]
	w := r.byPayload[f.Payload]
	if w == nil {
		return // a cancellation
	}
	r.Stats["landed"]++
	if len(all) > 1 {
		r.Violated(OnceLanded, fmt.Sprintf("%s is in the chain %d times, by %v and %v", w.key, len(all), all[0].Intent, all[1].Intent))
	}
	if w.result != nil && !w.result.Confirmed && !w.lost {
		r.Violated(ToldTheTruth, fmt.Sprintf("%s landed in block %d, after its user was told that it was reverted", w.key, number))
	}
}

// accepted notes that a user was told that an intent is stored.
func (r *run) accepted(n *node, w *wish, a core.Accepted) {
	if a.Err != nil {
		return
	}
	if first := n.db.find(w.key); !r.Check(first != nil && first.Sequence == a.Sequence, EveryIntentEnds, "%s was accepted as %v, and is not stored so", w.key, a.Sequence) || w.accepted > 0 {
		return
	}
	w.accepted = r.w.Now()
	if r.rough() && r.w.Chance(0.2) { // its user asks once more, perhaps when it has ended
		n.later(r.w.Between(time.Second, 20*time.Second), func() { n.handIn(w) })
	}
	r.words.say(n, "has stored %s (%s), and its user hears so", w.key, w.text)
	r.Stats["accepted"]++
}

// told checks that a user is told what is stored.
func (r *run) told(n *node, f core.Finished) {
	r.Check(n.db.numbered(f.Result.Sequence).Result == f.Result, ToldTheTruth, "%s was told what is not stored", f.Key)
}

// finished notes how an intent ended: it is stored, and its user may hear of it.
func (r *run) finished(n *node, result ledger.Result) {
	w := r.wishes[n.db.numbered(result.Sequence).Key]
	if w == nil {
		return
	}
	w.result, w.ended = &result, r.w.Now()
	in := slices.ContainsFunc(r.chain.facts[w.payload], func(l landing) bool { return l.block <= r.chain.final.Number() })
	if result.Confirmed {
		r.Stats["confirmed"]++
		r.tell(n.name, "ends %s (%s) as confirmed, after %.1f s", w.key, w.text, (w.ended - w.accepted).Seconds())
		r.Check(in, ToldTheTruth, "%s was told confirmed, and is not in the final chain", w.key)
	} else {
		r.Stats["reverted"]++
		r.tell(n.name, "ends %s (%s) as reverted: %s", w.key, w.text, result.Why)
		r.Check(len(r.chain.facts[w.payload]) == 0, ToldTheTruth, "%s was told reverted (%s), and is in the chain", w.key, result.Why)
		impossible := strings.HasSuffix(w.text, "never") || strings.HasSuffix(w.text, "fails") || strings.Contains(w.text, " odd ")
		r.Check(impossible || w.given, NoStarvation, "%s (%s) was given up, though it was possible: %s", w.key, w.text, result.Why)
	}
}

// stored notes which grants are durable, for I5.
func (r *run) stored(n *node, s sender.Store) {
	for _, g := range s.Grants {
		r.granted[grantKey{g.Assembled, g.Grant.Delegation, g.Grant.Coordinator}] = true
		r.chain.past.granted(g.Assembled, g.Grant.ValidUntil)
	}
	for _, result := range s.Results {
		r.finished(n, result)
	}
}

type grantKey struct {
	assembled, delegation ledger.Hash
	coordinator           ledger.Account
}

// judgeDispatch looks at what is handed to a submitter. I5: its owner has stored a grant for this node before.
func (r *run) judgeDispatch(n *node, entries []ledger.Entry) {
	r.Stats["dispatched"] += int64(len(entries))
	for _, e := range entries {
		g := e.Grant
		r.Check(r.granted[grantKey{g.Assembled, g.Delegation, n.account}], GrantStored, "%s dispatches %v without a grant that is stored", n.name, e.Intent.Sequence)
		n.sent[e.Intent] = true
		r.Check(g.Assembled == r.scheme.Assembled(r.contract, e.Attempt), GrantStored, "%s dispatches what was not granted", n.name)
	}
	if r.cfg.Calm && r.lagged == 0 {
		r.judgeOne(n)
	}
}

// judgeOne is I8: without faults and with equal heights only the one that the ranking names dispatches, but for a
// moment at the turn of a range.
func (r *run) judgeOne(n *node) {
	final := r.chain.final.Number()
	own := r.committee.RangeOf(final)
	near := r.committee.RangeOf(final - min(final, 3))
	ok := r.committee.Order(own)[0] == string(n.account) || r.committee.Order(near)[0] == string(n.account) || r.committee.Order(own + 1)[0] == string(n.account)
	r.Check(ok, OneDispatches, "%s dispatches in range %d, which names another", n.name, own)
}

// judgeSent looks at each message that leaves.
func (r *run) judgeSent(n *node, to ledger.Account, msg wire.Message) {
	switch body := msg.Body.(type) {
	case wire.Granted:
		for _, g := range body.Items {
			if g.Why == wire.Done {
				r.Check(r.granted[grantKey{g.Grant.Assembled, g.Grant.Delegation, g.Grant.Coordinator}], GrantStored, "%s sends a grant that is not stored", n.name)
				r.Check(r.assembled[g.Grant.Assembled] == n.account, OwnAttempt, "%s grants what it did not assemble", n.name)
			}
		}
	case wire.Assembled:
		for _, a := range body.Results {
			if a.Why == wire.Done {
				h := r.scheme.Assembled(r.contract, a.Attempt)
				r.assembled[h] = n.account
				r.chain.past.hear(h, a.Attempt, r.scheme)
			}
		}
	case wire.Handover:
		r.closed(n, to, r.handovers[msg.Request]) // the question may be one of an earlier range, and late
	case wire.Accepted: // not before: the offer may have waited for the contract to be read
		if d, is := n.offered[msg.Request]; is {
			n.delegations[d.Delegation] = d.Avoid
			delete(n.closed, d.Delegation)
		}
	case wire.Assemble:
		r.judgeOrder(n, to, body)
	case wire.AskHandover:
		at := r.inherits[n]
		if at == nil || at.life != n.woken || at.number != body.Range {
			at = &inheritance{life: n.woken, number: body.Range, asked: map[ledger.Account]bool{}, requests: map[wire.RequestID]ledger.Account{}}
			if r.committee.Order(body.Range)[0] == n.name {
				at.holds = r.w.Now() + 2*time.Second
			}
			r.inherits[n] = at
			r.tell(n.name, "begins to coordinate, in range %d", body.Range)
		}
		at.asked[to], at.requests[msg.Request], r.handovers[msg.Request] = true, to, body.Range
	case wire.AskGrant:
		r.judgeInherited(n)
	}
	if isAnswer(msg.Body) && !r.offers(n.account, msg) {
		at := r.requests[key(n, msg.Request)]
		at.answers++
		r.requests[key(n, msg.Request)] = at
		unasked := at.arrived == 0 && !r.again(msg)
		r.Check(r.again(msg) || !unasked && at.answers <= at.arrived, OneAnswer, "%s gives a request %d answers, which arrived %d times", n.name, at.answers, at.arrived)
	}
}

// judgeArrived counts requests. I10: each gets one answer.
func (r *run) judgeArrived(n *node, from ledger.Account, msg wire.Message) {
	if _, hands := msg.Body.(wire.Handover); !hands { // that one counts when it is proven
		r.judgeHanded(n, from, msg)
	}
	if d, is := msg.Body.(wire.Delegate); is {
		n.offered[msg.Request] = d
	}
	_, contents := msg.Body.(wire.Attempts)
	offered := contents && msg.Request.Incarnation != n.fetcher // by its owner, or an earlier start has asked for it: n is to keep it
	if (!isAnswer(msg.Body) || offered) && msg.Request != (wire.RequestID{}) {
		k := key(n, msg.Request)
		at := r.requests[k]
		at.arrived++
		at.life, at.at, at.what = n.lives, r.w.Now(), fmt.Sprintf("%T", msg.Body)
		r.requests[k] = at
	}
}

// judgeOrder is I4: a coordinator asks for the first attempts of one delegation in the order of their submission.
func (r *run) judgeOrder(n *node, to ledger.Account, body wire.Assemble) {
	for _, item := range body.Items {
		k := orderKey{n, to, item.Delegation}
		o := r.orders[k]
		if o == nil {
			o = &order{seen: map[ledger.Sequence]bool{}}
			r.orders[k] = o
		}
		if o.seen[item.Sequence] {
			continue
		}
		o.seen[item.Sequence] = true
		at := r.byAccount[to].db.numbered(item.Sequence).Number
		if at == 0 {
			continue // its database was restored to one that knows nothing of it
		}
		r.Check(at >= o.last, SubmitOrder, "%s asks %s for number %d after number %d", n.name, r.byAccount[to].name, at, o.last)
		o.last = max(o.last, at)
	}
}

type orderKey struct {
	coordinator *node
	sender      ledger.Account
	delegation  ledger.Hash
}

type order struct {
	seen map[ledger.Sequence]bool
	last uint64
}

type request struct {
	arrived, answers, life int
	at                     time.Duration
	what                   string
}

type requestKey struct {
	node *node
	id   wire.RequestID
}

func key(n *node, id wire.RequestID) requestKey { return requestKey{n, id} }

// again reports whether an answer may come unasked: grants of an earlier start are sent once more.
func (r *run) again(msg wire.Message) bool {
	_, is := msg.Body.(wire.Granted)
	return is
}

// offers reports whether a member gives contents that nobody has asked it for.
func (r *run) offers(from ledger.Account, msg wire.Message) bool {
	_, is := msg.Body.(wire.Attempts)
	return is && r.fetchers[msg.Request.Incarnation] == from
}

func isAnswer(b wire.Body) bool {
	switch b.(type) {
	case wire.Accepted, wire.Assembled, wire.Endorsed, wire.Granted, wire.Noted, wire.List, wire.Handover, wire.Attempts, wire.Rejected:
		return true
	}
	return false
}

// judgeEnd looks at the whole, once all should be over.
func (r *run) judgeEnd() {
	for _, k := range r.order {
		w := r.wishes[k]
		if w.accepted > 0 && !w.lost && w.result == nil {
			r.Violated(EveryIntentEnds, fmt.Sprintf("%s of %s has not ended: %s", w.key, w.node.name, w.node.describe(w)))
		}
		if w.result != nil && w.result.Confirmed {
			r.Check(len(r.chain.facts[w.payload]) == 1, ToldTheTruth, "%s was told confirmed, and is in the chain %d times", w.key, len(r.chain.facts[w.payload]))
		}
	}
	for k, at := range r.requests {
		silent := at.answers == 0 && at.what != "wire.Attempts" // what is offered and not kept has no answer
		r.Check(!silent || k.node.lives != at.life || k.node.lies != nil, OneAnswer, "%s never answered a request (%s) of %v", k.node.name, at.what, at.at)
	}
	for _, n := range r.nodes {
		if n.Coordinator != nil {
			r.Check(len(n.Coordinator.Faults()) == 0, TableKept, "%s: %v", n.name, n.Coordinator.Faults())
		}
	}
	r.judgeMoney()
}

// judgeMoney is I3: the notes that are there are worth what was issued. The ledger has hashes only; the nodes have the
// contents, and each is checked against the ledger.
func (r *run) judgeMoney() {
	var issued uint64
	for _, w := range r.wishes {
		if len(r.chain.facts[w.payload]) > 0 {
			issued += w.amount
		}
	}
	for _, n := range r.nodes {
		if n.height() != r.chain.head.Number() || len(n.Book.Missing()) > 0 {
			continue // it does not know all yet
		}
		r.Stats["counted"]++
		var sum uint64
		for _, id := range r.chain.head.States() {
			s, is := n.Book.State(id)
			if r.Check(is, NoDoubleSpend, "%s lacks the contents of %v", n.name, id) {
				sum += valueOf(s.Data)
			}
		}
		r.Check(sum == issued, NoDoubleSpend, "%s counts %d, and %d was issued", n.name, sum, issued)
	}
}
